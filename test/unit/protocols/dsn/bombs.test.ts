import { expect, test } from "bun:test";
import { MAX_RECIPIENTS } from "../../../../src/protocols/dsn/delivery-status.ts";
import {
  MAX_DECODED_BYTES,
  MAX_DEPTH,
  MAX_MESSAGE_BYTES,
  MAX_PARTS,
  readMessage,
  decodePart,
} from "../../../../src/protocols/dsn/message.ts";
import { parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import { FOREIGN_PHRASES } from "../../../../src/protocols/dsn/languages.ts";
import { CERTAIN_PHRASES, REPORTER_PHRASES } from "../../../../src/protocols/dsn/phrases.ts";
import { cpuTime } from "../../../support/cpu-time.ts";

// Mail that is made to cost: bounded in time and memory, and never an exception.

const MIB = 1024 * 1024;
/** Far above what any of them takes (under half a second), far below what one that is not bounded would. */
const LIMIT_MS = 5_000;

const HEAD = "From: MAILER-DAEMON@x.test\r\nSubject: Undelivered Mail Returned to Sender\r\n";
const REPORT = `${HEAD}Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n`;
const STATUS =
  "--b\r\nContent-Type: message/delivery-status\r\n\r\nFinal-Recipient: rfc822;a@b.test\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n";
const nested = (levels: number) =>
  `${HEAD}Content-Type: multipart/mixed; boundary="b0"\r\n\r\n${Array.from({ length: levels }, (_, n) => `--b${n}\r\nContent-Type: multipart/mixed; boundary="b${n + 1}"\r\n\r\n`).join("")}`;

const BOMBS: Record<string, () => string> = {
  "100 MB of one line": () => `${HEAD}\r\n${"a".repeat(100 * MIB)}`,
  "100 MB of a header field": () => `${HEAD}X-A: ${"a".repeat(100 * MIB)}`,
  "two million empty lines": () => `${HEAD}\r\n${"\n".repeat(2 * MIB)}`,
  "lines that are almost delimiters": () => REPORT + "--\n".repeat(700_000),
  "10,000 parts": () => REPORT + "--b\r\n\r\nx\r\n".repeat(10_000),
  "10,000 delivery-statuses": () => REPORT + STATUS.repeat(10_000),
  "a status of 100,000 recipients": () =>
    `${REPORT}${STATUS}${"Final-Recipient: rfc822;a@b.test\r\nAction: failed\r\n\r\n".repeat(100_000)}`,
  "1,000 levels": () => nested(1_000),
  "1,000 messages in messages": () =>
    REPORT +
    "--b\r\nContent-Type: message/rfc822\r\n\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n".repeat(1_000),
  "300,000 fields": () => HEAD + "X-A: b\r\n".repeat(300_000),
  "a field folded 500,000 times": () => `${HEAD}X-A: b\r\n${" c\r\n".repeat(500_000)}`,
  "a Content-Type of 200,000 parameters": () =>
    `${HEAD}Content-Type: multipart/report${"; boundary".repeat(200_000)}\r\n\r\nx`,
  "a megabyte of spaces in a Content-Type": () =>
    `${HEAD}Content-Type: multipart/report;${" ".repeat(MIB)}boundary=b\r\n\r\nx`,
  "100,000 unfinished encoded words": () => `Subject: ${"=?utf-8?q?".repeat(100_000)}\r\n\r\nx`,
  "html of tags that do not end": () => `${HEAD}Content-Type: text/html\r\n\r\n${"<p ".repeat(MIB / 3)}`,
  "html of styles that do not end": () => `${HEAD}Content-Type: text/html\r\n\r\n${"<style>".repeat(MIB / 7)}`,
  "quoted-printable of equal signs": () =>
    `${HEAD}Content-Transfer-Encoding: quoted-printable\r\n\r\n${"=".repeat(2 * MIB)}`,
  "base64 that says it again": () => `${HEAD}Content-Transfer-Encoding: base64\r\n\r\n${"QUFB".repeat(MIB / 2)}`,
  "a text of codes": () => `${HEAD}\r\n${`${"550 5.1.1 ".repeat(99)}\n`.repeat(2_000)}`,
  "a text of addresses": () => `${HEAD}\r\n${"<a@b.test>: user unknown\n".repeat(50_000)}`,
  "a text of at signs": () => `${HEAD}\r\n${"a@".repeat(MIB)}`,
  "tokens that are one character too long": () => `${HEAD}\r\n${`b+${"a".repeat(43)} `.repeat(40_000)}`,
  "500,000 failed recipients": () => `X-Failed-Recipients: ${"a@b.test,".repeat(200_000)}\r\n\r\nx`,
  "JSON of 60,000 brackets": () => `${HEAD}\r\n{"notificationType":${"[".repeat(60_000)}`,
  "quotes of quotes": () => REPORT + "> > > > > ".repeat(200_000),
  // Each paragraph is looked at for each recipient: a stranger chooses how many there are of both.
  "50 recipients and 400 paragraphs that name none of them": () => {
    const paragraphs = `${"a\xc3\xa9 550 5.1.1 ".repeat(25)}\r\n\r\n`.repeat(400);
    const recipients = Array.from(
      { length: 50 },
      (_, n) => `Final-Recipient: rfc822; u${n}@b.test\r\nAction: failed\r\n\r\n`,
    );
    const text = `--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${paragraphs}`;
    return `${REPORT}${text}--b\r\nContent-Type: message/delivery-status\r\n\r\n${recipients.join("")}`;
  },
  "null bytes": () => "\0".repeat(2 * MIB),
};

test.each(Object.entries(BOMBS))("%s", (_name, make) => {
  const message = Buffer.from(make(), "latin1");
  const startedAt = cpuTime();
  const report = parseReport(message);
  expect(cpuTime() - startedAt).toBeLessThan(LIMIT_MS);
  if (report.kind === "bounce") expect(report.recipients.length).toBeLessThanOrEqual(MAX_RECIPIENTS);
});

test("the limits are where their names say", () => {
  const read = (text: string) => readMessage(Buffer.from(text, "latin1"));
  expect(read(`${HEAD}\r\n${"a".repeat(3 * MIB)}`).raw.length).toBe(MAX_MESSAGE_BYTES);
  expect(read(REPORT + "--b\r\n\r\nx\r\n".repeat(1_000)).parts.length).toBe(MAX_PARTS);
  // The innermost multipart that is opened holds the next one as a leaf.
  expect(read(`${nested(MAX_DEPTH + 5)}x`).parts.map(({ type }) => type)).toEqual(["multipart/mixed"]);
  const text = read(`${HEAD}Content-Type: text/plain\r\n\r\n${"a".repeat(MIB)}`).parts[0];
  expect(text === undefined ? 0 : decodePart(text).length).toBe(MAX_DECODED_BYTES);
});

test("texts full of the words that the rules look for cost no more", () => {
  const tables = [...CERTAIN_PHRASES, ...REPORTER_PHRASES, ...FOREIGN_PHRASES];
  const words = new Set(tables.flatMap(({ pattern }) => pattern.source.match(/[\p{L}]{4,}/gu) ?? []));
  const texts = [...words].map((word) => `${word} `.repeat(16_384 / (word.length + 1)));
  const startedAt = cpuTime();
  for (const text of texts)
    parseReport(
      Buffer.from(`${HEAD}Content-Type: text/plain; charset=utf-8\r\n\r\n${text.replaceAll(/(.{900}) /g, "$1\n")}`),
    );
  expect((cpuTime() - startedAt) / texts.length).toBeLessThan(50);
});
