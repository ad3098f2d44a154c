import { expect, test } from "bun:test";
import { parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import { bytes, mail } from "../../../support/dsn/mails.ts";

// RFC 5965; R42.

const TOKEN = "a".repeat(42);

function complaint(
  fields: string,
  copy = "From: loja@loja.test\nSubject: Pedido\n\nOlá",
  type = "message/rfc822",
): Uint8Array {
  return bytes(
    `From: fbl@provider.test\nSubject: FW: Pedido\nContent-Type: multipart/report; report-type=feedback-report; boundary=b\n\n--b\nContent-Type: text/plain\n\nThis is an abuse report.\n\n--b\nContent-Type: message/feedback-report\n\n${fields}\n\n--b\nContent-Type: ${type}\n\n${copy}\n--b--`,
  );
}

test("a complaint tells its type", () => {
  const fields =
    "Feedback-Type: Abuse\nUser-Agent: Feedback/1.0\nVersion: 1\nOriginal-Mail-From: <b+x@bounce.loja.test>\nOriginal-Rcpt-To: <maria@example.com>\nSource-IP: 192.0.2.1\nRemoval-Recipient: maria@example.com";
  expect(parseReport(complaint(fields))).toEqual({
    kind: "complaint",
    feedbackType: "abuse",
    isUnwanted: true,
    returnPaths: [],
  });
});

test("a complaint with its recipient hidden is found by the copy's trace header and return path", () => {
  const hidden = "Feedback-Type: abuse\nOriginal-Rcpt-To: redacted@example.com";
  for (const line of [
    `X-Pombo-Trace: ${TOKEN}`,
    `X-Pombo-Trace:\n ${TOKEN}`,
    `Return-Path: <b+${TOKEN}@bounce.loja.test>`,
  ]) {
    const read = parseReport(
      complaint(hidden, `${line}\nMessage-ID: <7@loja.test>\nFeedback-ID: a:b:c:pombo\nSubject: x\n\ny`),
    );
    expect([line, read]).toMatchObject([line, { returnPaths: [`b+${TOKEN}`] }]);
  }
});

test("a copy of the header alone is as good", () => {
  const read = parseReport(complaint("Feedback-Type: abuse", `X-Pombo-Trace: ${TOKEN}`, "text/rfc822-headers"));
  expect(read).toMatchObject({ kind: "complaint", returnPaths: [`b+${TOKEN}`] });
});

test("not-spam and auth-failure do not ask us to stop", () => {
  const types = {
    abuse: true,
    fraud: true,
    virus: true,
    other: true,
    "x-new": true,
    "not-spam": false,
    "auth-failure": false,
  };
  for (const [type, isUnwanted] of Object.entries(types))
    expect(parseReport(complaint(`Feedback-Type: ${type}`))).toMatchObject({
      kind: "complaint",
      feedbackType: type,
      isUnwanted,
    });
});

test("a report without its type, or without its parts, is a complaint about abuse", () => {
  expect(parseReport(complaint("User-Agent: x"))).toMatchObject({ kind: "complaint", feedbackType: "abuse" });
  const headers = ["Content-Type: multipart/report; report-type=feedback-report; boundary=lost"];
  expect(parseReport(mail({ headers, text: "--other\n\nFeedback-Type: fraud\nSource-IP: 192.0.2.1" }))).toMatchObject({
    kind: "complaint",
    feedbackType: "fraud",
  });
  expect(parseReport(mail({ headers, text: "" }))).toMatchObject({ kind: "complaint", feedbackType: "abuse" });
});

test("Outlook's junk reports have no report part", () => {
  const junk = bytes(
    `From: staff@hotmail.com\nSubject: complaint about message from 192.0.2.1\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\nX-HmXmrOriginalRecipient: maria@hotmail.com\nX-Pombo-Trace: ${TOKEN}\nSubject: x\n\ny\n--b--`,
  );
  expect(parseReport(junk)).toMatchObject({
    kind: "complaint",
    returnPaths: [`b+${TOKEN}`],
  });
});

const notification = (told: object) =>
  mail({
    from: "no-reply@sns.amazonaws.com",
    subject: "AWS Notification Message",
    text: `${JSON.stringify(told)}\n\n--\nIf you wish to stop`,
  });

test("Amazon's notifications are complaints and bounces", () => {
  const complained = {
    notificationType: "Complaint",
    complaint: { complainedRecipients: [{ emailAddress: "maria@example.com" }], complaintFeedbackType: "abuse" },
    mail: { source: "loja@loja.test" },
  };
  expect(parseReport(notification(complained))).toMatchObject({
    kind: "complaint",
    feedbackType: "abuse",
  });
  expect(parseReport(notification({ Type: "Notification", Message: JSON.stringify(complained) }))).toMatchObject({
    kind: "complaint",
  });
  const bounced = {
    notificationType: "Bounce",
    bounce: {
      bouncedRecipients: [
        {
          emailAddress: "maria@example.com",
          action: "failed",
          status: "5.1.1",
          diagnosticCode: "smtp; 550 5.1.1 user unknown",
        },
      ],
    },
  };
  expect(parseReport(notification(bounced))).toMatchObject({
    kind: "bounce",
    isHard: true,
    finalRecipient: "maria@example.com",
  });
  expect(parseReport(notification({ notificationType: "Delivery" })).kind).toBe("unknown");
});
