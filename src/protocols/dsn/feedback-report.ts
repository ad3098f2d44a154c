/**
 * Complaints: RFC 5965 feedback reports. The machine-readable part gives the type and what the
 * receiver tells of the envelope; recipients are often hidden there, so which email it is about
 * follows from the copy of the message (original-ids.ts). Pure.
 */
import { plain } from "./charset.ts";
import { parseTypedAddress, splitBlocks } from "./delivery-status.ts";
import { decodeWords, type Field, readFields, findValue, findValues } from "./fields.ts";
import { type Message, decodePart } from "./message.ts";
import { returnedFields } from "./notice.ts";

/** The fields of a complaint; absent ones are null or empty. */
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
  if (part !== undefined) return toFeedback(readFields(firstBlock(decodePart(part))));
  if (message.reportType === "feedback-report") return toFeedback(findFields(message.raw));
  return isJunkReport(message.fields) ? toFeedback(junkFields(message)) : null;
}

function toFeedback(fields: Field[]): Feedback {
  const feedbackType = /^[\w-]{1,40}/.exec(findValue(fields, "feedback-type") ?? "")?.[0].toLowerCase() ?? "abuse";
  const recipients = [...findValues(fields, "original-rcpt-to"), ...findValues(fields, "removal-recipient")]
    .map(parseTypedAddress)
    .filter((address) => address !== null);
  return {
    feedbackType,
    isUnwanted: !NO_COMPLAINT.has(feedbackType),
    recipients: [...new Set(recipients)].slice(0, MAX_RECIPIENTS),
    originalMailFrom: parseTypedAddress(findValue(fields, "original-mail-from")),
    sourceIp: findValue(fields, "source-ip"),
    reporter: findValue(fields, "user-agent"),
  };
}

/** A report whose parts cannot be told apart: the lines of its fields, wherever they stand. */
function findFields(raw: string): Field[] {
  const found = /^feedback-type[ \t]{0,8}:/im.exec(raw);
  return found === null ? [] : readFields(firstBlock(raw.slice(found.index, found.index + MAX_REPORT_CHARACTERS)));
}

function firstBlock(text: string): string {
  const [block = ""] = splitBlocks(text.slice(0, MAX_REPORT_CHARACTERS));
  return block;
}

/** Outlook writes the recipient into the copy's header. */
function junkFields(message: Message): Field[] {
  const value = findValue(returnedFields(message), "x-hmxmroriginalrecipient");
  return value === null ? [] : [{ name: "original-rcpt-to", value }];
}

/** Outlook's junk mail reports have no report part: the message comes back in a plain multipart. */
function isJunkReport(fields: Field[]): boolean {
  const from = findValue(fields, "from")?.toLowerCase() ?? "";
  const subject = plain(decodeWords(findValue(fields, "subject") ?? ""));
  return /staff@(?:hotmail|outlook)\.com/.test(from) && subject.startsWith("complaint about message from");
}
