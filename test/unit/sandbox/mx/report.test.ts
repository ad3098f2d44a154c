import { expect, test } from "bun:test";
import { type MailParserOptions, simpleParser } from "mailparser";
import { parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import { returnPath } from "../../../../src/protocols/dsn/return-path.ts";
import { newId } from "../../../../src/platform/uuid.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { bounceReport, complaintReport, type Reported } from "../../../../src/sandbox/mx/report.ts";
import { NOON, lines } from "../../../support/sandbox/kit.ts";

const RECIPIENT = "bounce-later@example.com";
const RETURN_PATH = returnPath(
  { id: newId(NOON, systemRandom), recipient: RECIPIENT },
  "mail.sandbox.test",
  new Uint8Array(32),
);
const TOKEN = RETURN_PATH.slice(0, RETURN_PATH.indexOf("@"));
const BY = { host: "mx.sandbox.test", at: NOON + 1_000, id: "0190-report" };
const RAW = lines(
  "Message-ID: <1@shop.example>",
  `X-Pombo-Trace: ${TOKEN.slice(2)}`,
  "To: bounce-later@example.com",
  "Subject: folded",
  " over two lines",
  "",
  "the text",
);
const reported: Reported = { returnPath: RETURN_PATH, recipient: RECIPIENT, raw: RAW, receivedAt: NOON };

test("the bounce says that the address itself does not exist, and whose message it was", () => {
  const { envelopeFrom, envelopeTo, content } = bounceReport(reported, BY);
  expect([envelopeFrom, envelopeTo]).toEqual(["", RETURN_PATH]);
  const read = parseReport(content, RECIPIENT);
  expect(read).toMatchObject({ kind: "bounce", isPermanent: true, isHard: true, category: "invalid_recipient" });
  expect(read).toMatchObject({ smtpCode: 550, status: "5.1.1", remoteMta: "mx.sandbox.test" });
  expect(read).toMatchObject({ returnPaths: [TOKEN] });
});

test("the complaint hides its recipient and can be told by what the sender signed", () => {
  const { envelopeFrom, envelopeTo, content } = complaintReport(reported, "fbl@mail.sandbox.test", BY);
  expect([envelopeFrom, envelopeTo]).toEqual(["feedbackloop@mx.sandbox.test", "fbl@mail.sandbox.test"]);
  expect(Buffer.from(content).toString()).not.toContain(RECIPIENT);
  const read = parseReport(content, RECIPIENT);
  expect(read).toMatchObject({ kind: "complaint", feedbackType: "abuse", isUnwanted: true });
  expect(read).toMatchObject({ returnPaths: [TOKEN] });
});

test("both are messages that another reader takes apart", async () => {
  for (const { content } of [bounceReport(reported, BY), complaintReport(reported, "fbl@mail.sandbox.test", BY)]) {
    // Not among the package's types.
    const options: MailParserOptions & { keepDeliveryStatus: boolean } = { keepDeliveryStatus: true };
    const { attachments, subject, date } = await simpleParser(Buffer.from(content), options);
    expect(subject).not.toBeUndefined();
    expect(date?.getTime()).toBe(NOON + 1_000);
    expect(attachments.map(({ contentType }) => contentType)).toContainEqual(
      expect.stringMatching(/^message\/(?:delivery-status|feedback-report)$/),
    );
  }
});

test("a recipient with other letters in its tag cannot break the report", () => {
  const strange = { ...reported, recipient: "bounce-later+ção@example.com", raw: lines("Subject: é", "", "x") };
  const text = Buffer.from(bounceReport(strange, BY).content).toString("latin1");
  expect(text).toMatch(/^[\t\r\n\x20-\x7e]+$/);
  expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
});
