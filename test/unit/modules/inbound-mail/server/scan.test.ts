// The raw bytes of a message, in pieces of every size.
import { expect, test } from "bun:test";
import { ContentScan, MAX_HEADER_BYTES } from "../../../../../src/modules/inbound-mail/server/content.ts";

function scan(text: string, pieceBytes: number): ContentScan["fault"] {
  const bytes = Buffer.from(text, "latin1");
  const scanner = new ContentScan();
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.read(bytes.subarray(at, at + pieceBytes));
  scanner.end();
  return scanner.fault;
}

const HEADER = "Subject: x\r\n\r\n";

test.each([
  ["", null],
  ["\r\n", null],
  [HEADER, null],
  [`${HEADER}one\r\ntwo\r\n\r\n\r\nthree\r\n`, null],
  [`${HEADER}no end`, null],
  [`${HEADER}\x00\x0b\x0c\x85\u00a0\r\n`, null],
  [`${HEADER}one\ntwo\r\n`, "bare_line_end"],
  [`${HEADER}one\rtwo\r\n`, "bare_line_end"],
  [`${HEADER}one\n\r\n`, "bare_line_end"],
  [`${HEADER}one\n\r`, "bare_line_end"],
  [`${HEADER}one\r\r\n`, "bare_line_end"],
  [`${HEADER}one\r\n\n`, "bare_line_end"],
  [`${HEADER}one\r`, "bare_line_end"],
  ["\n", "bare_line_end"],
  ["\r", "bare_line_end"],
  ["Subject: x\nFrom: y\r\n\r\n", "bare_line_end"],
  ["Subject: x\rFrom: y\r\n\r\n", "bare_line_end"],
  [`${HEADER}.\n`, "bare_line_end"],
  [`${HEADER}\n.\r\n`, "bare_line_end"],
] as const)("%j: %p, however it is cut", (text, fault) => {
  for (const size of [1, 2, 3, 5, 7, 1024]) expect([size, scan(text, size)]).toEqual([size, fault]);
});

test("a header may have 256 KiB with its last line, of however many lines, and the body more", () => {
  const line = "X-Filler: aaaaaaaaaaaaaaaaaaaa\r\n";
  const many = line.repeat(Math.floor((MAX_HEADER_BYTES - 2) / line.length));
  const one = `X: ${"a".repeat(MAX_HEADER_BYTES - 7)}\r\n`;
  for (const size of [1000, 65_536]) {
    expect(scan(`${many}\r\n${"b".repeat(MAX_HEADER_BYTES)}\r\n`, size)).toBeNull();
    expect(scan(`${many}${line}\r\n`, size)).toBe("header");
    expect(scan(`${one}\r\n`, size)).toBeNull();
    expect(scan(`a${one}\r\n`, size)).toBe("header");
    expect(scan("a".repeat(MAX_HEADER_BYTES + 1), size)).toBe("header");
  }
});
