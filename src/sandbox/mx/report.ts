/**
 * What the sandbox's MX sends back, as the mail servers and mailbox providers outside write it: a
 * report that a message could not be delivered after all (RFC 3464), and one that its recipient
 * called it unwanted (RFC 5965), where the recipient's address is hidden, as large providers do.
 * Both return the header of the message, by which they are told to belong to it. Pure.
 */
import { dateValue } from "../../protocols/mime/header.ts";

export interface Reported {
  /** Its envelope's sender: where a bounce goes. */
  returnPath: string;
  recipient: string;
  /** The whole message, as it came. */
  raw: Uint8Array;
  /** When it came; Unix ms. */
  receivedAt: number;
}

export interface Report {
  /** "" is the null sender: nobody bounces a bounce (RFC 5321 §4.5.5). */
  envelopeFrom: string;
  envelopeTo: string;
  content: Uint8Array;
}

/** By whom: `host` writes it, at `at` (Unix ms). `id` makes its boundary and Message-ID: letters, digits, hyphens. */
export interface Reporter {
  host: string;
  at: number;
  id: string;
}

const MAX_HEADER_BYTES = 32 * 1024;

/** "No such user", found out after the 250. */
export function bounceReport(reported: Reported, { host, at, id }: Reporter): Report {
  const { returnPath, recipient, raw, receivedAt } = reported;
  const text = [
    `This is the mail system at host ${host}.`,
    "",
    "Your message could not be delivered to one recipient. It was taken,",
    "and only then was it found that nobody has this mailbox:",
    "",
    `<${recipient}>: host ${host} said: 550 5.1.1 No such user: bounce-later@`,
    "    always bounces after it was taken (in reply to RCPT TO command)",
    "",
  ];
  const status = [
    `Reporting-MTA: dns; ${host}`,
    `Arrival-Date: ${dateValue(receivedAt)}`,
    "",
    `Final-Recipient: rfc822; ${recipient}`,
    `Original-Recipient: rfc822;${recipient}`,
    "Action: failed",
    "Status: 5.1.1",
    `Remote-MTA: dns; ${host}`,
    "Diagnostic-Code: smtp; 550 5.1.1 No such user: bounce-later@ always bounces",
    "    after it was taken",
    "",
  ];
  const fields = [
    `From: MAILER-DAEMON@${host} (Mail Delivery System)`,
    `To: ${returnPath}`,
    "Subject: Undelivered Mail Returned to Sender",
    "Auto-Submitted: auto-replied",
    `Content-Type: multipart/report; report-type=delivery-status; boundary="${id}"`,
  ];
  const parts = [
    part(id, "text/plain; charset=us-ascii", text),
    part(id, "message/delivery-status", status),
    part(id, "text/rfc822-headers", readHeaderLines(raw)),
  ];
  return { envelopeFrom: "", envelopeTo: returnPath, content: compose({ host, at, id }, fields, parts) };
}

/** "This is spam", pressed by the recipient; `address` is the operator's for complaints. */
export function complaintReport(reported: Reported, address: string, { host, at, id }: Reporter): Report {
  const { returnPath, raw, receivedAt } = reported;
  const from = `feedbackloop@${host}`;
  const text = ["This is an email abuse report for a message that one of our users", "called unwanted.", ""];
  const feedback = [
    "Feedback-Type: abuse",
    "User-Agent: PomboSandbox/1.0",
    "Version: 1",
    `Original-Mail-From: <${returnPath}>`,
    `Original-Rcpt-To: <redacted@${host}>`,
    `Arrival-Date: ${dateValue(receivedAt)}`,
    `Reporting-MTA: dns; ${host}`,
    "",
  ];
  const fields = [
    `From: ${from}`,
    `To: ${address}`,
    "Subject: Abuse report",
    `Content-Type: multipart/report; report-type=feedback-report; boundary="${id}"`,
  ];
  // Of the copy the recipient is hidden too; whose email it is stands in what the sender signed.
  const copy = readHeaderLines(raw).filter((line) => !/^to:/i.test(line));
  const parts = [
    part(id, "text/plain; charset=us-ascii", text),
    part(id, "message/feedback-report", feedback),
    part(id, "message/rfc822", [...copy, "", "(the text is hidden)", ""]),
  ];
  return { envelopeFrom: from, envelopeTo: address, content: compose({ host, at, id }, fields, parts) };
}

/** The lines of the message's header, its folded fields as they stand. */
function readHeaderLines(raw: Uint8Array): string[] {
  const head = Buffer.from(raw.subarray(0, MAX_HEADER_BYTES)).toString("latin1");
  const end = head.indexOf("\r\n\r\n");
  return (end < 0 ? head.slice(0, Math.max(head.lastIndexOf("\r\n"), 0)) : head.slice(0, end)).split("\r\n");
}

function part(boundary: string, type: string, lines: string[]): string[] {
  return [`--${boundary}`, `Content-Type: ${type}`, "", ...lines];
}

function compose({ host, at, id }: Reporter, fields: string[], parts: string[][]): Uint8Array {
  const lines = [
    `Date: ${dateValue(at)}`,
    `Message-ID: <${id}@${host}>`,
    "MIME-Version: 1.0",
    ...fields,
    "",
    ...parts.flat(),
    `--${id}--`,
    "",
  ];
  // A tag of the recipient's may hold anything; the report is plain ASCII.
  return Buffer.from(lines.map((line) => line.replace(/[^\t\x20-\x7e]/g, "?")).join("\r\n"), "latin1");
}
