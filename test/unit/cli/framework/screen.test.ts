// Text for people: where a line breaks, and when it has colours.
import { expect, test } from "bun:test";
import { findColour, findScreen, layOut, paint, paintStatus, wrap } from "../../../../src/cli/framework/screen.ts";

const PIPE = { width: null, hasColour: false };

test("a line breaks at spaces, never inside a word, also where a word is wider than the screen", () => {
  expect(wrap("one two three", 13)).toEqual(["one two three"]);
  expect(wrap("one two three", 12)).toEqual(["one two", "three"]);
  expect(wrap("see https://example.com/a/long/path now", 12)).toEqual([
    "see",
    "https://example.com/a/long/path",
    "now",
  ]);
  expect(wrap("世界 世界 世界", 10)).toEqual(["世界 世界", "世界"]);
  expect(wrap("", 10)).toEqual([""]);
});

test("an indented line goes on two columns further in, and a labelled one under its text", () => {
  expect(wrap("  ! smtp: no site is reachable", 20)).toEqual(["  ! smtp: no site is", "    reachable"]);
  expect(wrap("  Status    bounced: no such mailbox", 26)).toEqual([
    "  Status    bounced: no",
    "            such mailbox",
  ]);
  expect(wrap("08:11:34  bounced   550 no such mailbox", 26)).toEqual([
    "08:11:34  bounced   550 no",
    "          such mailbox",
  ]);
  // A label of more than half of the screen leaves no room for a column.
  expect(wrap("  a long label here  and text", 20)).toEqual(["  a long label here", "    and text"]);
});

test("a command to be pasted stays on its line", () => {
  for (const command of [
    "  pombo workspace delete 01a2 --yes",
    "  sudo -u pombo pombo status",
    "  sudo edit  # a comment",
  ])
    expect(wrap(command, 20)).toEqual([command]);
  expect(wrap("  pombo dev  Try pombo, a sandbox", 20)).toHaveLength(2);
});

test("a text for another program is left as it is, without colours", () => {
  const text = `${"word ".repeat(40)}\n${paint("failed", "red")}`;
  expect(layOut(text, PIPE)).toBe(`${"word ".repeat(40)}\nfailed`);
  expect(layOut(paint("failed", "red"), { width: 80, hasColour: false })).toBe("failed");
  expect(layOut(paint("failed", "red"), { width: 80, hasColour: true })).toBe("\u001b[31mfailed\u001b[39m");
});

test("a colour takes no column", () => {
  const line = `  Status  ${paint("bounced", "red")} twice`;
  expect(layOut(line, { width: 23, hasColour: true })).toBe(line);
  expect(layOut(line, { width: 22, hasColour: true }).split("\n")).toHaveLength(2);
});

test("statuses have colours, also as an event's name and before a reason; other words have none", () => {
  expect(paintStatus("delivered")).toBe(paint("delivered", "green"));
  expect(paintStatus("email.bounced")).toBe(paint("email.bounced", "red"));
  expect(paintStatus("refused, again at 08:16:00")).toStartWith("\u001b[31m");
  for (const word of ["queued", "", "-", "constructor", "toString"]) expect(paintStatus(word)).toBe(word);
  expect(findColour("email.delivery_delayed")).toBe("yellow");
  expect(findColour("mx")).toBeUndefined();
});

test("colours are for terminals, unless NO_COLOR is set or TERM is dumb; NO_COLOR= is not set", () => {
  const tty = { isTTY: true, columns: 100 };
  expect(findScreen(tty, {})).toEqual({ width: 100, hasColour: true });
  expect(findScreen(tty, { NO_COLOR: "", TERM: "xterm" })).toEqual({ width: 100, hasColour: true });
  expect(findScreen(tty, { NO_COLOR: "1" })).toEqual({ width: 100, hasColour: false });
  expect(findScreen(tty, { TERM: "dumb" })).toEqual({ width: 100, hasColour: false });
  expect(findScreen({ isTTY: true }, {})).toEqual({ width: 80, hasColour: true });
  expect(findScreen({ isTTY: true, columns: 0 }, {})).toEqual({ width: 80, hasColour: true });
  expect(findScreen({ columns: 100 }, {})).toEqual(PIPE);
});
