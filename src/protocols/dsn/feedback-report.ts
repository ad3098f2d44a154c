/**
 * Complaints: RFC 5965 feedback reports. Only their type is read: recipients are often hidden, so which email one is
 * about follows from the token in the copy of the message (parse-report.ts). Pure.
 */
import { plain } from "./charset.ts";
import { decodeWords, type Field, findValue } from "./fields.ts";
import { type Message, decodePart } from "./message.ts";

export interface Feedback {
  /** Lower case: `abuse`, `fraud`, `virus`, `other`, `not-spam`, `auth-failure`, …; `abuse` where the report is one and names no type. */
  feedbackType: string;
  /** True where the recipient does not want our mail. False for `not-spam`, which says the contrary, and for `auth-failure`, which is about DKIM and SPF. */
  isUnwanted: boolean;
}

/** RFC 6430 (`not-spam`), RFC 6591 (`auth-failure`); `dmarc` is in the wild. */
const NO_COMPLAINT = new Set(["not-spam", "auth-failure", "dmarc"]);
const TYPE_FIELD = /^feedback-type[ \t]{0,8}:(?:\r?\n[ \t])?[ \t]{0,8}([\w-]{1,40})/im;

/** The feedback of a message that is a feedback report, else null. */
export function readFeedback(message: Message): Feedback | null {
  const part = message.parts.find(({ type }) => type === "message/feedback-report");
  if (part !== undefined) return toFeedback(findType(decodePart(part)));
  // In a report whose parts cannot be told apart the field counts wherever it stands.
  if (message.reportType === "feedback-report") return toFeedback(findType(message.raw));
  return isJunkReport(message.fields) ? toFeedback("abuse") : null;
}

function findType(text: string): string {
  return TYPE_FIELD.exec(text)?.[1] ?? "abuse";
}

export function toFeedback(type: string): Feedback {
  const feedbackType = type.toLowerCase();
  return { feedbackType, isUnwanted: !NO_COMPLAINT.has(feedbackType) };
}

/** Outlook's junk mail reports have no report part: the message comes back in a plain multipart. */
function isJunkReport(fields: Field[]): boolean {
  const from = findValue(fields, "from")?.toLowerCase() ?? "";
  const subject = plain(decodeWords(findValue(fields, "subject") ?? ""));
  return /staff@(?:hotmail|outlook)\.com/.test(from) && subject.startsWith("complaint about message from");
}
