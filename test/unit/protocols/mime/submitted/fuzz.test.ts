import { describe, expect, test } from "bun:test";
import { decodeTransfer } from "../../../../../src/protocols/mime/submitted/transfer-encoding.ts";
import { cpuTime } from "../../../../support/cpu-time.ts";
import { seeded } from "../../../../support/db/temporary.ts";
import { bounceSamples, isCorpusHere } from "../../../../support/dsn/corpus.ts";
import { faultOf, reassemble, sent, submit, toOctets } from "../../../../support/mime/submitted.ts";
import { createMessageGenerator } from "../../../../support/mime/trees.ts";

// ROUNDS and SEED make it longer, and the same again.

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const LIMIT_MS = 2_000;

/** Words that mean something to the reader, to be put in anywhere. */
const PIECES = [
  "\r\n",
  "\n\n",
  "\r",
  "--",
  "--b0",
  "--b0--",
  " ",
  "\t",
  "boundary=",
  '"',
  "(",
  ")",
  "<",
  ">",
  ",",
  ";",
  ":",
  "@",
  "\\",
  "Content-Type: multipart/mixed; boundary=b0\r\n",
  "Content-Type: multipart/signed; boundary=b1\r\n",
  "Content-Type: message/rfc822\r\n\r\n",
  "Content-Transfer-Encoding: base64\r\n",
  "Content-Transfer-Encoding: quoted-printable\r\n",
  "Content-Transfer-Encoding: 8bit\r\n",
  "From: a@example.com\r\n",
  "To: \u00ff <b@example.com>\r\n",
  "Sender: c@example.com\r\n",
  "=?utf-8?Q?=C3=A9?=",
  "=?utf-8?B?",
  "?=",
  "=",
  "=\r\n",
  "filename*0*=utf-8''",
  "name=\u00e9",
  "\u00c3\u00a9",
  "\u00ff",
  "\u0080",
  "\0",
];

/** What must be so of every message that is taken. */
function check(octets: Uint8Array): void {
  const startedAt = cpuTime();
  const read = submit(octets);
  expect(cpuTime() - startedAt).toBeLessThan(LIMIT_MS);
  if (read.kind === "fault") {
    expect(read.message).toMatch(/^[^\r\n]{10,400}$/);
    return;
  }
  const { message } = read;
  for (const line of message.header.split(/\r\n(?![ \t])/).slice(0, -1)) expect(line).toMatch(/^[!-9;-~]+:[^\0]*$/);
  expect(/[^\0-\x7f]/.test(message.header)).toBe(message.needsSmtpUtf8);
  expect(message.from.address).toMatch(/^[ -~]+@[a-z0-9.-]+$/);
  expect(message.holes).toEqual(message.holes.toSorted((a, b) => a - b));
  expect(message.holes.length).toBe(message.attachments.length);
  for (const { filename, contentType, encoded, transferEncoding, bytes } of message.attachments) {
    expect(filename).toMatch(/^[^/\\\p{Cc}]{1,255}$/u);
    expect(contentType).toMatch(/^[!-~]+\/[!-~]+(?:; charset=[!-~]+)?$/);
    expect(bytes).toBe(decodeTransfer(encoded, transferEncoding).length);
  }
  const after = reassemble(message);
  const text = after.toString("latin1");
  const body = text.slice(Buffer.byteLength(message.header) + 2);
  expect(/[\u0080-\u00ff]/.test(body)).toBe(message.hasEightBit);
  expect(/\0|\r(?!\n)|(?<!\r)\n/.test(text)).toBe(false);
  expect(text.split("\r\n").every((line) => line.length <= 998)).toBe(true);
  // What is sent is read alike, and nothing is changed twice.
  const again = submit(after);
  expect(again.kind).toBe("message");
  if (again.kind === "fault") return;
  expect(again.message.header).toBe(message.header);
  expect(reassemble(again.message).equals(after)).toBe(true);
  expect(again.message.from.address).toBe(message.from.address);
  expect(again.message.attachments).toEqual(message.attachments);
}

const TIMEOUT_MS = (ROUNDS + 10) * 2_000;

describe(`SEED=${SEED}`, () => {
  test(
    "a 7-bit message with nothing to change is sent octet for octet",
    () => {
      const generate = createMessageGenerator(seeded(SEED));
      for (let round = 0; round < ROUNDS * 100; round++) {
        const { text, attachments } = generate({ isEightBit: false });
        expect(sent(text)).toBe(text);
        const read = submit(text);
        expect(read.kind === "message" ? read.message.attachments.length : -1).toBe(attachments);
      }
    },
    TIMEOUT_MS,
  );

  test(
    "an 8-bit message becomes one that is read alike",
    () => {
      const generate = createMessageGenerator(seeded(SEED + 1));
      for (let round = 0; round < ROUNDS * 100; round++) {
        const { text } = generate({ isEightBit: true });
        // Beside the parts a line may be too long.
        expect(faultOf(text)).toMatch(/^$|at most 998/);
        check(toOctets(text));
      }
    },
    TIMEOUT_MS,
  );

  test(
    "mutated messages never throw",
    () => {
      const random = seeded(SEED + 2);
      const below = (limit: number) => Math.floor(random() * limit);
      const generate = createMessageGenerator(random);
      const corpus = isCorpusHere ? bounceSamples("raw").map(({ bytes }) => bytes) : [];
      for (const bytes of corpus) check(bytes);
      const pick = () => {
        const one = random() < 0.3 ? corpus[below(corpus.length)] : undefined;
        return one === undefined ? generate({ isEightBit: random() < 0.5 }).text : Buffer.from(one).toString("latin1");
      };
      const change = (text: string, by: string, removed: number) => {
        // Most in the header, where most is decided.
        const at = below(random() < 0.5 ? Math.min(text.length, 400) + 1 : text.length + 1);
        return text.slice(0, at) + by + text.slice(at + removed);
      };
      for (let round = 0; round < ROUNDS * 200; round++) {
        let text = pick();
        for (let n = below(6); n > 0; n--)
          text =
            [
              () => change(text, PIECES[below(PIECES.length)] ?? "", below(3)),
              () => change(text, String.fromCharCode(below(256)), 1),
              () => change(text, pick().slice(0, below(2_000)), below(100)),
              () => text.replaceAll("\r\n", random() < 0.5 ? "\n" : "\r"),
            ][below(4)]?.() ?? text;
        check(toOctets(text));
      }
    },
    TIMEOUT_MS,
  );
});
