import { describe, expect, test } from "bun:test";
import { cpuTime } from "../../../../support/cpu-time.ts";
import { accept, faultOf, lines, reassemble, sent, toOctets } from "../../../../support/mime/submitted.ts";

const FROM = "From: ana@example.com";

describe("line ends", () => {
  test("a bare LF, a bare CR, and CRs before a LF become CRLF", () => {
    expect(sent(`${FROM}\nTo: b@example.com\n\nx\ny\r\r\nz\ra\r\rb\n`)).toBe(
      lines(FROM, "To: b@example.com", "", "x", "y", "z", "a", "", "b"),
    );
  });

  test("the last line gets its end", () => {
    expect(sent(`${FROM}\r\n\r\nx`)).toBe(lines(FROM, "", "x"));
    expect(sent(`${FROM}\r\n\r\nx\r`)).toBe(lines(FROM, "", "x"));
    expect(sent(`${FROM}\r\n\r\nx\r\r\n`)).toBe(lines(FROM, "", "x"));
  });

  test("a message that is right is not copied", () => {
    const octets = Buffer.from(lines(FROM, "", "x"));
    expect(accept(octets).body.buffer).toBe(octets.buffer);
  });

  test("a message without an empty line is all header", () => {
    const { header, body, attachments } = accept(lines(FROM, "Subject: x"));
    expect([header, body.length, attachments.length]).toEqual([lines(FROM, "Subject: x"), 0, 0]);
  });
});

describe("what is refused names its line", () => {
  const CASES: [string, string, string][] = [
    ["NUL", lines(FROM, "", "a", "b\0"), "line 4 holds a NUL character"],
    ["a line of 999 octets", lines(FROM, "", "x".repeat(999)), "line 3 has 999 octets; at most 998 are allowed"],
    ["a long line in the header", lines(FROM, `X: ${"x".repeat(1_201)}`, "", ""), "line 2 has 1,204 octets"],
    [
      "a line that is no field",
      lines(FROM, "nonsense", "", "x"),
      "line 2 is not a header field (Name: value); header fields come first",
    ],
    [
      "a line of an mbox",
      lines("From a@b.co Mon Jan  1", FROM, "", ""),
      "line 1 is not a header field (Name: value), but the first line",
    ],
    ["a continuation first", lines(" x", FROM, "", ""), "line 1 begins with white space"],
    ["a name beyond ASCII", lines(FROM, "Ol\u00e1: x", "", ""), "line 2 is not a header field"],
    ["a name of 77 octets", lines(FROM, `${"x".repeat(77)}: x`, "", ""), "line 2 is not a header field"],
    [
      "a large header",
      lines(FROM, ...Array.from({ length: 300 }, () => `X: ${"x".repeat(900)}`), "", ""),
      "the header section has more than 256 KiB",
    ],
    ["101 Received", lines(...Array.from({ length: 101 }, () => "Received: by x"), FROM, "", ""), "too many hops"],
  ];
  for (const [name, message, fault] of CASES)
    test(name, () => {
      expect(faultOf(message)).toStartWith(`syntax: ${fault}`);
    });

  test("what is at the limit is taken", () => {
    expect(faultOf(lines(FROM, "", "x".repeat(998)))).toBe("");
    expect(faultOf(lines(FROM, `${"x".repeat(76)}: x`, "", ""))).toBe("");
    expect(faultOf(lines(...Array.from({ length: 100 }, () => "Received: by x"), FROM, "", ""))).toBe("");
  });

  test("a long line is no fault in a text that is encoded", () => {
    expect(faultOf(lines(FROM, "", `\u00e9${"x".repeat(3_000)}`))).toBe("");
    const parts = lines(
      FROM,
      "Content-Type: multipart/mixed; boundary=b",
      "",
      "--b",
      "",
      `\u00e9${"x".repeat(3_000)}`,
      "--b",
      "",
    );
    expect(faultOf(parts + lines("x".repeat(999), "--b--"))).toStartWith("syntax: line 9 has 999");
  });
});

describe("parts", () => {
  const multipart = (boundary: string) => `Content-Type: multipart/mixed; boundary="${boundary}"`;

  test("1,001 parts are refused, as a boundary that comes 10,000 times", () => {
    const parts = (n: number) => lines(FROM, multipart("b"), "") + lines("--b", "", "x").repeat(n) + lines("--b--");
    expect(faultOf(parts(999))).toBe("");
    expect(faultOf(parts(1_000))).toContain("begins a part too many; at most 1,000 are allowed");
    expect(faultOf(parts(10_000))).toContain("begins a part too many");
  });

  test("a part with a header of more than 256 KiB is refused", () => {
    const large = lines(...Array.from({ length: 300 }, () => `X: ${"x".repeat(900)}`));
    expect(faultOf(`${lines(FROM, multipart("b"), "", "--b")}${large}${lines("", "x", "--b--")}`)).toBe(
      "syntax: line 5 begins a header section of more than 256 KiB",
    );
  });

  test("50 levels of multiparts are taken, 51 are not", () => {
    const nested = (n: number) =>
      lines(FROM) +
      Array.from({ length: n }, (_, i) => lines(multipart(`b${i}`), "", `--b${i}`)).join("") +
      lines("", "x");
    expect(faultOf(nested(50))).toBe("");
    expect(faultOf(nested(51))).toContain("begins a part within more than 50 others");
  });

  test("messages in messages, 60 deep, are refused", () => {
    const nested = (n: number) =>
      lines(FROM) + lines("Content-Type: message/rfc822", "").repeat(n) + lines("X: y", "", "x");
    expect(faultOf(nested(50))).toBe("");
    expect(faultOf(nested(60))).toContain("begins a part within more than 50 others");
  });
});

describe("time is linear", () => {
  const MIB = 1_024 * 1_024;
  const HEAD = lines(FROM, "Content-Type: multipart/mixed; boundary=b", "", "--b", "Content-Type: a/b", "");
  const NESTED = Array.from({ length: 50 }, (_, i) =>
    lines(`Content-Type: multipart/mixed; boundary=b${i}`, "", `--b${i}`),
  );
  const CASES: [string, string][] = [
    ["base64", HEAD + lines("QUJD".repeat(19)).repeat((4 * MIB) / 78)],
    ["lines of two hyphens", HEAD + "\r\n--".repeat(MIB)],
    ["what begins as the boundary does", HEAD + "\r\n--b-".repeat(MIB / 2)],
    ["50 levels of 8-bit text", lines(FROM) + NESTED.join("") + lines("", "\u00e9") + lines("x").repeat(MIB)],
    ["a header of quotation marks", lines(FROM, `To: \u00ff${`${'\\"'.repeat(400)}\r\n `.repeat(300)}x`, "", "")],
    [
      "a header of half encoded-words",
      lines(FROM, `To: \u00ff${`${"<=?a?q?".repeat(100)}\r\n `.repeat(300)}x`, "", ""),
    ],
    ["a header of parentheses", lines(FROM, `To: \u00ff${`${"(".repeat(900)}\r\n `.repeat(200)}x`, "", "")],
    ["a header of white space", lines(FROM, `Content-Type: \u00ff;${"\r\n ".repeat(80_000)}x`, "", "")],
    [
      "a header of parameters",
      lines(FROM, `Content-Type: a/b${`${';a="\u00e9"'.repeat(100)}\r\n `.repeat(300)}`, "", ""),
    ],
  ];
  for (const [name, message] of CASES)
    test(name, () => {
      const octets = toOctets(message);
      const startedAt = cpuTime();
      expect(reassemble(accept(octets)).length).toBeGreaterThan(40);
      expect(cpuTime() - startedAt).toBeLessThan(1_500);
    });
});

test("a boundary with 60 KB of spaces in it is none, and is read in no time", () => {
  const value = `a${" ".repeat(900)}${"\r\n ".padEnd(900, " ").repeat(66)}b`;
  const startedAt = performance.now();
  expect(faultOf(lines(FROM, `Content-Type: multipart/mixed; boundary="${value}"`, "", "x"))).toBe("");
  expect(performance.now() - startedAt).toBeLessThan(500);
});
