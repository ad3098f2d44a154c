import { expect, test } from "bun:test";
import {
  cleanReply,
  formatReply,
  makeReply,
  MAX_LINE_BYTES,
  MAX_REPLY_LINES,
  ReplyError,
  ReplyReader,
  type Reply,
} from "../../../../../src/protocols/smtp/replies/reply.ts";
import { seeded } from "../../../../support/smtp/helpers.ts";

function read(...chunks: (string | Uint8Array)[]): Reply[] {
  const reader = new ReplyReader();
  return chunks.flatMap((chunk) => reader.push(Buffer.from(chunk as string)));
}

test("a single line gives its code, enhanced code and text (R24)", () => {
  expect(read("550 5.1.1 No such user\r\n")).toEqual([
    { code: 550, enhanced: "5.1.1", lines: ["5.1.1 No such user"], text: "5.1.1 No such user" },
  ]);
});

test("a reply without an enhanced code has none (R24)", () => {
  for (const line of ["250 Ok", "250", "250 ", "220 mx1.5.2 ready", "250 5.1 short", "354 9.1.1 x", "250 5.1.1234 x"]) {
    expect(read(`${line}\r\n`)[0]!.enhanced).toBeNull();
  }
  expect(read("550 #5.1.0 Address rejected.\r\n")[0]!.enhanced).toBe("5.1.0");
});

test("the lines of a multi-line reply are joined, and a repeated enhanced code appears once", () => {
  const [reply] = read("550-5.1.1 The account\r\n550-5.1.1 does not\r\n550 5.1.1 exist\r\n");
  expect(reply).toEqual({
    code: 550,
    enhanced: "5.1.1",
    lines: ["5.1.1 The account", "5.1.1 does not", "5.1.1 exist"],
    text: "5.1.1 The account does not exist",
  });
  expect(formatReply(reply!)).toBe("550 5.1.1 The account does not exist");
});

test("replies are the same however the network cuts the bytes", () => {
  const stream = "220 hi\r\n250-a\r\n250-b\r\n250 c\r\n354 go\r\n421 4.3.2 bye\r\n";
  const whole = read(stream);
  expect(whole.map((reply) => reply.code)).toEqual([220, 250, 354, 421]);
  expect(read(...stream)).toEqual(whole);
  for (let cut = 1; cut < stream.length; cut++) expect(read(stream.slice(0, cut), stream.slice(cut))).toEqual(whole);
});

test("a bare LF ends a line too, as some servers send it", () => {
  expect(read("250-one\n250 two\n").map((reply) => reply.lines)).toEqual([["one", "two"]]);
});

test("two codes in one reply are refused (R24)", () => {
  expect(() => read("250-one\r\n550 two\r\n")).toThrow(ReplyError);
});

test("what is not a reply is refused", () => {
  for (const line of ["hello", "25 x", "2500 x", "150 x", "650 x", "250_x", "", " 250 x", "HTTP/1.1 400 Bad Request"]) {
    expect(() => read(`${line}\r\n`)).toThrow(ReplyError);
  }
});

test("a line of 2,048 bytes passes and a longer one does not, ended or not (R24)", () => {
  const text = "x".repeat(MAX_LINE_BYTES - 4);
  expect(read(`250 ${text}\r\n`)).toHaveLength(1);
  expect(() => read(`250 ${text}x\r\n`)).toThrow(ReplyError);
  expect(() => read(`250 ${text}`, "xxxxxxxxxx")).toThrow(ReplyError);
});

test("a reply of 100 lines passes and a longer one does not (R24)", () => {
  expect(read(`${"250-x\r\n".repeat(MAX_REPLY_LINES - 1)}250 x\r\n`)[0]!.lines).toHaveLength(MAX_REPLY_LINES);
  expect(() => read(`${"250-x\r\n".repeat(MAX_REPLY_LINES)}250 x\r\n`)).toThrow(ReplyError);
});

test("half a reply is known to be one", () => {
  const reader = new ReplyReader();
  expect(reader.hasPartial).toBe(false);
  for (const part of ["25", "0-one\r\n", "250 tw"]) {
    expect(reader.push(Buffer.from(part))).toEqual([]);
    expect(reader.hasPartial).toBe(true);
  }
  expect(reader.push(Buffer.from("o\r\n"))).toHaveLength(1);
  expect(reader.hasPartial).toBe(false);
});

test("what can be seen of a reply stays; escape sequences, controls and invisible characters leave no trace (R36)", () => {
  const table: [string, string][] = [
    ["plain text", "plain text"],
    ["\x1b[31mred\x1b[0m text", "red text"],
    ["\x1b]0;title\x07after", "after"],
    ["\x1b]8;;http://evil\x1b\\link", "link"],
    ["\x9b31mC1", "C1"],
    ["\x1bPdevice\x1b\\x", "x"],
    ["\x1bcreset", "reset"],
    ["tab\tand\r\nline", "tab and line"],
    ["nul\x00bell\x07", "nulbell"],
    ["café não \u202egnp.exe \u2066x\u2069 \u200b\ufeff\u3164", "café não gnp.exe x"],
    ["邮箱不存在 Почтовый ящик 📫", "邮箱不存在 Почтовый ящик 📫"],
    ["a\u2028b\u00a0c\u0085d", "a b cd"],
    [`z${"\u0301".repeat(50)}`, "z\u0301\u0301\u0301"],
    ["\ud800lone", "lone"],
    ["   spaced    out   ", "spaced out"],
    ["\x1b", ""],
  ];
  for (const [raw, clean] of table) expect(cleanReply(raw)).toBe(clean);
});

test("a reply is UTF-8, and a byte that is not is replaced, not dropped", () => {
  const said = (bytes: Buffer) => read(Buffer.concat([Buffer.from("550 5.1.1 "), bytes, Buffer.from("\r\n")]))[0]!.text;
  expect(said(Buffer.from("Caixa de correio não existe"))).toBe("5.1.1 Caixa de correio não existe");
  expect(said(Buffer.from("Empf\xe4nger unbekannt", "latin1"))).toBe("5.1.1 Empf\ufffdnger unbekannt");
  expect(said(Buffer.from([0xff, 0xfe, 0x6e, 0x6f, 0x1b, 0x5b, 0x31, 0x6d]))).toBe("5.1.1 \ufffd\ufffdno");
  // C1 controls: as one byte they are no UTF-8, as two they are removed.
  expect(said(Buffer.from([0x9b, 0x33, 0x31, 0x6d]))).toBe("5.1.1 \ufffd31m");
  expect(said(Buffer.from("\u009b31mred"))).toBe("5.1.1 red");
  const reader = new ReplyReader();
  const bytes = Buffer.from("550 n\u00e3o \ud83d\udceb\r\n");
  // However the network cuts it.
  expect([...bytes].flatMap((byte) => reader.push(Buffer.from([byte])))[0]?.text).toBe("não 📫");
});

test("a cleaned reply has at most 512 characters (R36)", () => {
  expect(cleanReply("x".repeat(100_000))).toHaveLength(512);
  expect(makeReply(550, Array(100).fill("y".repeat(500))).text).toHaveLength(512);
  expect(formatReply(makeReply(550, ["y".repeat(512)])).length).toBeLessThanOrEqual(512);
  for (const text of [cleanReply("📫".repeat(300).slice(1)), formatReply(makeReply(550, [`y${"📫".repeat(255)}`]))])
    expect([text.isWellFormed(), text.length <= 512]).toEqual([true, true]);
});

test("mutated replies give replies or a ReplyError, nothing else", () => {
  const seeds = [
    "250-mx.example\r\n250-PIPELINING\r\n250 SIZE 1000\r\n",
    "550 5.1.1 No\r\n",
    "421-4.7.0 a\n421 4.7.0 b\r\n354 go\r\n",
  ];
  const rounds = Number(process.env["ROUNDS"] ?? 5);
  for (let round = 0; round < rounds; round++) {
    const random = seeded(round);
    const pick = (below: number) => Math.floor(random() * below);
    for (let case_ = 0; case_ < 1_000; case_++) {
      let bytes = Buffer.from(seeds[pick(seeds.length)]!);
      for (let change = pick(6); change >= 0; change--) {
        const at = pick(bytes.length);
        const insert = [
          Buffer.from([pick(256)]),
          Buffer.from("\r\n"),
          Buffer.from("250-"),
          Buffer.alloc(pick(3_000), 0x41),
          Buffer.alloc(0),
        ][pick(5)]!;
        bytes = Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + pick(3))]);
        if (bytes.length === 0) bytes = Buffer.from("2");
      }
      const reader = new ReplyReader();
      try {
        for (let at = 0; at < bytes.length;) {
          const size = 1 + pick(400);
          for (const reply of reader.push(bytes.subarray(at, at + size))) {
            expect(reply.code).toBeWithin(200, 600);
            expect(reply.text).toMatch(/^[^\p{C}\p{Zl}\p{Zp}]*$/u);
            expect(reply.text.length).toBeLessThanOrEqual(512);
            expect(reply.lines.length).toBeWithin(1, MAX_REPLY_LINES + 1);
          }
          at += size;
        }
      } catch (error) {
        if (!(error instanceof ReplyError))
          throw new Error(`round ${round}, case ${case_}: ${JSON.stringify(bytes.toString("latin1"))}`, {
            cause: error,
          });
      }
    }
  }
});
