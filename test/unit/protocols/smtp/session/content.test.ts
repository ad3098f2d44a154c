import { expect, test } from "bun:test";
import { prepareContent } from "../../../../../src/protocols/smtp/session/content.ts";
import { seeded } from "../../../../support/smtp/helpers.ts";

const prepare = (content: string) => prepareContent(Buffer.from(content, "latin1"), false).toString("latin1");

/** What a server does: takes one dot off every line that begins with one. */
const unstuff = (stuffed: string) => stuffed.replace(/(^|\r\n)\./g, "$1");

test("content without leading dots is passed on uncopied", () => {
  const content = Buffer.from("a.b\r\nx.\r\n");
  expect(prepareContent(content, false).buffer).toBe(content.buffer);
});

test("every line that begins with a dot gets one more (R23, RFC 5321 section 4.5.2)", () => {
  expect(prepare(".\r\n")).toBe("..\r\n");
  expect(prepare(".a\r\n..\r\nb.\r\n\r\n.\r\n")).toBe("..a\r\n...\r\nb.\r\n\r\n..\r\n");
});

test("every end-of-data variant with a bare CR or LF is refused before it is sent (R23, SMTP smuggling)", () => {
  const variants = [
    "\n.\n",
    "\r.\r",
    "\r\n.\n",
    "\n.\r\n",
    "\r.\r\n",
    "\r\n.\r",
    "\r\r\n.\r\r\n",
    "\n\r\n.\r\n",
    "\r\n.\r\r\n",
    "\n",
    "\r",
    "\r\n\x00.\r\n",
  ];
  for (const variant of variants) {
    expect(() => prepare(`before${variant}MAIL FROM:<evil@example.com>\r\n`)).toThrow();
    expect(() => prepare(`${variant}after\r\n`)).toThrow();
    expect(() => prepare(`${`${"x".repeat(900)}\r\n`.repeat(80)}${variant}after\r\n`)).toThrow();
  }
});

test("the one true end of data inside the content is stuffed away", () => {
  const prepared = prepare("before\r\n.\r\nMAIL FROM:<evil@example.com>\r\n");
  expect(prepared).toBe("before\r\n..\r\nMAIL FROM:<evil@example.com>\r\n");
  expect(prepared).not.toContain("\r\n.\r\n");
});

test("8-bit bytes, NUL, long lines and a missing last line end are refused", () => {
  for (const content of ["caf\xe9\r\n", "a\x00b\r\n", `${"x".repeat(999)}\r\n`, "no line end", "", "ends with CR\r"]) {
    expect(() => prepare(content)).toThrow();
  }
  expect(prepare(`${"x".repeat(998)}\r\n`)).toHaveLength(1_000);
});

test("what a server unstuffs is what was composed, for any lines", () => {
  const random = seeded(7);
  for (let round = 0; round < 2_000; round++) {
    const pieces = ["\r\n", ".", "..", "a", "\r\n.\r\n", " ", "\t"];
    let content = "";
    for (let length = random() * 30; length > 0; length--) content += pieces[Math.floor(random() * pieces.length)];
    content += "\r\n";
    const prepared = prepare(content);
    expect(unstuff(prepared)).toBe(content);
    expect(`\r\n${prepared}`.indexOf("\r\n.\r\n")).toBe(-1);
  }
});
