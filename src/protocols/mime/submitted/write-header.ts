/** The header of a submitted message as it is to be sent, with what was taken out of it. */
import { isAscii } from "node:buffer";
import { parseDateTime } from "./date.ts";
import { encodeField, withoutBlankBeforeColon } from "./eight-bit-field.ts";
import { rawValue, readDecoded, type HeaderField } from "./header-section.ts";
import { readOriginator } from "./originator.ts";
import type { Part } from "./parts.ts";
import { hasEightBitOctets, trimBlanks, unfold } from "./text.ts";

export interface WrittenHeader {
  /**
   * Fields in their order, each ended by CRLF, without the empty line. ASCII, except that addresses whose local part is
   * beyond ASCII stay: the text is to be written as UTF-8 (RFC 6532).
   */
  header: string;
  needsSmtpUtf8: boolean;
  /** Without angle brackets; null: missing, doubled or unusable, and then it is not in `header`. */
  messageId: string | null;
  /** Unix ms; null: there is not one usable Date, and then none is in `header`. */
  date: number | null;
  /** The domain of a Sender field that was set aside, and the field as it is to be written; null: none, or unreadable. */
  sender: { domain: string; field: string } | null;
  taken: TakenField[];
}

export interface TakenField {
  /** As it is written. */
  name: string;
  /** Unfolded, decoded, trimmed. */
  value: string;
}

/** Of `ReadOptions`. */
interface Choice {
  isTaken(name: string): boolean;
  isDropped(name: string): boolean;
  isSetAside?(name: string): boolean;
}

/** One id that needs no quoting, as other mails refer to it (RFC 5322 §3.6.4). */
const MESSAGE_ID = /^<([!-;=?A-~]{1,450}@[!-;=?A-~]{1,450})>$/;

/** `root`: after `reencode`. `from`: what is written for the From field; null: it stays as it came. */
export function writeHeader({ fields, added }: Part, from: string | null, choice: Choice): WrittenHeader {
  const messageId = readMessageId(fields);
  const date = readDate(fields);
  const taken: TakenField[] = [];
  const aside: HeaderField[] = [];
  let header = "";
  for (const field of fields) {
    const { key, name } = field;
    if (key === "from" && from !== null) header += from;
    else if (key !== "from" && choice.isTaken(key)) taken.push({ name, value: readDecoded(field) });
    else if (key !== "from" && choice.isSetAside?.(key) === true) aside.push(field);
    else if (!(isUnusable(key) || (key !== "from" && choice.isDropped(key)))) header += writeField(field);
  }
  header = Buffer.from(header + added, "latin1").toString("utf8");
  return {
    header,
    needsSmtpUtf8: !isAscii(Buffer.from(header, "utf8")),
    messageId,
    date,
    sender: readSender(aside),
    taken,
  };

  function isUnusable(key: string): boolean {
    return (key === "message-id" && messageId === null) || (key === "date" && date === null);
  }
}

function writeField(field: HeaderField): string {
  return field.written ?? encodeField(field, true) ?? withoutBlankBeforeColon(field);
}

function readMessageId(fields: HeaderField[]): string | null {
  const [field, ...others] = fields.filter(({ key }) => key === "message-id");
  if (field === undefined || others.length > 0) return null;
  return MESSAGE_ID.exec(trimBlanks(unfold(rawValue(field))))?.[1] ?? null;
}

function readDate(fields: HeaderField[]): number | null {
  const [field, ...others] = fields.filter(({ key }) => key === "date");
  if (field === undefined || others.length > 0 || hasEightBitOctets(field.raw)) return null;
  return parseDateTime(unfold(rawValue(field)));
}

function readSender([field, ...others]: HeaderField[]): WrittenHeader["sender"] {
  if (field === undefined || others.length > 0) return null;
  const read = readOriginator(field);
  if (read.kind === "fault") return null;
  return { domain: read.mailbox.domain, field: read.written ?? writeField(field) };
}
