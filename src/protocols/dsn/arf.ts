/**
 * Complaints: RFC 5965 feedback reports. The machine-readable part gives the type and what the
 * receiver tells of the envelope; recipients are often hidden there, so which email it is about
 * follows from the copy of the message (original-ids.ts). Pure.
 */
import { plain } from "./charset.ts";
import { addressOf } from "./delivery-status.ts";
import { decodeWords, type Field, lines, readFields, valueOf, valuesOf } from "./fields.ts";
import { type Message, textOf } from "./message.ts";
import { returnedFields } from "./notice.ts";

/** What a complaint says; absent fields are null or empty. */
export interface Feedback {
  /** Lower case: `abuse`, `fraud`, `virus`, `other`, `not-spam`, `auth-failure`, …; `abuse` where the report is one and names no type. */
  feedbackType: string;
  /** True where the recipient does not want our mail. False for `not-spam`, which says the contrary, and for `auth-failure`, which is about DKIM and SPF. */
  isUnwanted: boolean;
  /** As the report gives them; hidden ones (`redacted@example.com`, a hash) cannot be told from true ones. */
  recipients: string[];
  originalMailFrom: string | null;
  sourceIp: string | null;
  reporter: string | null;
}

const MAX_REPORT_CHARACTERS = 64 * 1024;
const MAX_RECIPIENTS = 50;

/** RFC 6430 (`not-spam`), RFC 6591 (`auth-failure`); `dmarc` is in the wild. */
const NO_COMPLAINT = new Set(["not-spam", "auth-failure", "dmarc"]);

/** The feedback of a message that is a feedback report, else null. */
export function readFeedback(message: Message): Feedback | null {
  const part = message.parts.find(({ type }) => type === "message/feedback-report");
  if (part !== undefined) return feedbackOf(readFields(firstBlock(textOf(part))));
  if (message.reportType === "feedback-report") return feedbackOf(findFields(message.raw));
  return isJunkReport(message.fields) ? feedbackOf(junkFields(message)) : null;
}

function feedbackOf(fields: Field[]): Feedback {
  const feedbackType = /^[\w-]{1,40}/.exec(valueOf(fields, "feedback-type") ?? "")?.[0].toLowerCase() ?? "abuse";
  const recipients = [...valuesOf(fields, "original-rcpt-to"), ...valuesOf(fields, "removal-recipient")]
    .map(addressOf)
    .filter((address) => address !== null);
  return {
    feedbackType,
    isUnwanted: !NO_COMPLAINT.has(feedbackType),
    recipients: [...new Set(recipients)].slice(0, MAX_RECIPIENTS),
    originalMailFrom: addressOf(valueOf(fields, "original-mail-from")),
    sourceIp: valueOf(fields, "source-ip"),
    reporter: valueOf(fields, "user-agent"),
  };
}

/** A report whose parts cannot be told apart: the lines of its fields, wherever they stand. */
function findFields(raw: string): Field[] {
  const found = /^feedback-type[ \t]{0,8}:/im.exec(raw);
  return found === null
    ? []
    : readFields(firstBlock(raw.slice(Math.max(0, found.index), found.index + MAX_REPORT_CHARACTERS)));
}

function firstBlock(text: string): string {
  let block = "";
  for (const line of lines(text.slice(0, MAX_REPORT_CHARACTERS))) {
    if (line.trim() !== "") block += `${line}\n`;
    else if (block !== "") break;
  }
  return block;
}

/** Outlook writes the recipient into the copy's header. */
function junkFields(message: Message): Field[] {
  const value = valueOf(returnedFields(message), "x-hmxmroriginalrecipient");
  return value === null ? [] : [{ name: "original-rcpt-to", value }];
}

/** Outlook's junk mail reports have no report part: the message comes back in a plain multipart. */
function isJunkReport(fields: Field[]): boolean {
  const from = valueOf(fields, "from")?.toLowerCase() ?? "";
  const subject = plain(decodeWords(valueOf(fields, "subject") ?? ""));
  return /staff@(?:hotmail|outlook)\.com/.test(from) && subject.startsWith("complaint about message from");
}
