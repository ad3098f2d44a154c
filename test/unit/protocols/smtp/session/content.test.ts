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

test("one octet that may not be there is found at any place, wherever the content lies in its memory", () => {
  const line = `${"x".repeat(20)}\r\n`;
  for (let offset = 0; offset < 4; offset++) {
    const memory = Buffer.alloc(offset + 3 * line.length);
    const content = memory.subarray(offset);
    for (let at = line.length; at < 2 * line.length - 2; at++) {
      for (const bad of [0x00, 0x0a, 0x0d, 0x80, 0xff]) {
        content.write(line.repeat(3), "latin1");
        content[at] = bad;
        expect(() => prepareContent(content, false)).toThrow();
      }
      content.write(line.repeat(3), "latin1");
      // Neither is a control but NUL, CR and LF, nor a dot within a line.
      for (const good of [0x01, 0x09, 0x0b, 0x0e, 0x1f, 0x2e, 0x7f]) {
        content[at] = good;
        const expected = content.toString("latin1").replace(/^\./gm, "..");
        expect(prepareContent(content, false).toString("latin1")).toBe(expected);
      }
    }
  }
});
