// Reads a delivery receipt: which message it is about, and what happened to that. Pure, in bounded time, never throws.
// SMPP 3.4 names three TLVs for it and shows a text in its appendix B, of which every vendor has made its own. The TLVs count
// first, and each key of the text is searched by itself, in any order and case, in Latin-1: an id in a TLV and the state in
// the text is common. Vendors' clocks and zones differ, so that only our time of receipt counts; the submit date is read
// to tell which message is meant where the id does not.

import type { RECEIPT_STATES } from "../../../platform/db/schema/sms.ts";
import type { Inbound } from "../../../protocols/smpp/pdu/pdu.ts";
import { networkErrorText, type NetworkError, readNetworkError } from "./failure.ts";
import { readHeader } from "../encoding/user-data-header.ts";

/** The network's words for a message. `delivered`, `expired`, `deleted`, `undeliverable` and `rejected` are its last. */
export type ReceiptState = (typeof RECEIPT_STATES)[number];

/** The fields of a deliver_sm or data_sm that are read. */
export interface Delivery extends Pick<Inbound, "esmClass" | "receiptedMessageId" | "messageState"> {
  shortMessage: Uint8Array;
  /** It counts where the short message is empty. */
  messagePayload: Uint8Array | null;
  networkErrorCode: Uint8Array | null;
}

export interface Receipt {
  /** The SMSC goes on trying; its word is never the last one, but for `delivered`. */
  isIntermediate: boolean;
  /** As written; null: it names no message. */
  id: string | null;
  state: ReceiptState;
  /** The state in the SMSC's own word, at most 32 characters, as `providerStatus`; null: it gives none. */
  word: string | null;
  /** The text's `err`; null: none. */
  err: string | null;
  networkError: NetworkError | null;
  /** As `providerErrorCode`: `gsm:27`, else `069`, or null. */
  errorCode: string | null;
  /** How the message itself begins, as far as it says (20 characters in appendix B); null: it does not. */
  text: string | null;
  /** Its `submit date` as if that were UTC, Unix ms: the SMSC's clock and zone are unknown. Null: none that can be read. */
  submitDate: number | null;
}

/** SMPP 3.4 §5.2.12: bits 5 to 2 of esm_class say what kind of message it is. */
const KIND = 0x3c;
const RECEIPT = 0x04;
const INTERMEDIATE = 0x20;
const HEADER = 0x40;

/** SMPP 3.4 §5.2.28 by number, with the word of appendix B; 0 and 9 are of SMPP 5.0. */
const NUMBERED: readonly (readonly [ReceiptState, string])[] = [
  ["enroute", "SCHEDULED"],
  ["enroute", "ENROUTE"],
  ["delivered", "DELIVRD"],
  ["expired", "EXPIRED"],
  ["deleted", "DELETED"],
  ["undeliverable", "UNDELIV"],
  ["accepted", "ACCEPTD"],
  ["unknown", "UNKNOWN"],
  ["rejected", "REJECTD"],
  ["unknown", "SKIPPED"],
];

/** Words by their beginnings, since vendors cut and spell them as they like. The longer comes first. */
const WORDS: readonly (readonly [string, ReceiptState])[] = [
  ["UNDEL", "undeliverable"],
  ["UNDLV", "undeliverable"],
  ["DELIV", "delivered"],
  ["DELVR", "delivered"],
  ["DLVR", "delivered"],
  ["DELET", "deleted"],
  ["EXPIR", "expired"],
  ["FAIL", "undeliverable"],
  ["REJ", "rejected"],
  ["ACCEPT", "accepted"],
  ["ACK", "accepted"],
  ["BUFF", "enroute"],
  ["ENROUT", "enroute"],
  ["SCHED", "enroute"],
];

/** The receipt in a PDU, or null: it is a message from a subscriber. */
export function readReceipt(delivery: Delivery): Receipt | null {
  const text = readText(delivery);
  if (!isReceipt(delivery, text)) return null;
  const fields = readFields(text);
  const isIntermediate = (delivery.esmClass & KIND) === INTERMEDIATE;
  const { state, word } = readState(delivery.messageState, fields.stat);
  const networkError = delivery.networkErrorCode === null ? null : readNetworkError(delivery.networkErrorCode);
  const isTold = networkError !== null && networkError.code !== 0;
  return {
    isIntermediate,
    id: clean(delivery.receiptedMessageId ?? "", 65) ?? fields.id,
    state: isIntermediate && state !== "delivered" && isFinalState(state) ? "enroute" : state,
    word,
    err: fields.err,
    networkError,
    errorCode: isTold ? networkErrorText(networkError) : fields.err,
    text: fields.text,
    submitDate: readDate(fields.submitDate),
  };
}

/** Whether nothing follows this word. */
export function isFinalState(state: ReceiptState): boolean {
  return state !== "enroute" && state !== "accepted" && state !== "unknown";
}

function isReceipt({ esmClass, receiptedMessageId, messageState }: Delivery, text: string): boolean {
  const kind = esmClass & KIND;
  if (kind === INTERMEDIATE || (kind & RECEIPT) === RECEIPT) return true;
  if (receiptedMessageId !== null && messageState !== null) return true;
  // SMSCs that mark nothing. A person's message does not begin so, and if it did, the id would fit nothing.
  return kind === 0 && /^\s*id\s*:/i.test(text) && /\bstat\s*:/i.test(text) && /\bdone ?date\s*:/i.test(text);
}

/** Longer than any receipt; the keys come before the message's own text. */
const MAX_TEXT = 1_024;

/**
 * The text, a character an octet. Receipts are marked with data codings 0, 1, 3 and 8 over the same ASCII
 * octets; those of UTF-16 are known by the zero beside their first letter.
 */
function readText({ esmClass, shortMessage, messagePayload }: Delivery): string {
  const whole = shortMessage.length > 0 ? shortMessage : (messagePayload ?? shortMessage);
  const header = (esmClass & HEADER) === 0 ? 0 : (readHeader(whole)?.length ?? 0);
  const bytes = Buffer.from(whole.subarray(header, header + 2 * MAX_TEXT));
  const isWide = bytes.length >= 2 && (bytes[0] === 0) !== (bytes[1] === 0);
  if (!isWide) return bytes.toString("latin1").slice(0, MAX_TEXT);
  const units = bytes.subarray(0, bytes.length - (bytes.length % 2));
  return (bytes[0] === 0 ? units.swap16() : units).toString("utf16le");
}

const MAX_OWN_TEXT = 40;

/** The keys of appendix B, as they begin what follows a value that is missing. */
const KEYS = "id|sub|dlvrd|submit ?date|done ?date|stat|err|text";

function readFields(text: string): Record<"id" | "stat" | "err" | "submitDate" | "text", string | null> {
  // The beginning of the message itself comes after "text:" and may hold anything, "stat:" too.
  const [head = "", ...own] = text.split(/(?<![a-z])text\s*:/i);
  const searched = /(?<![a-z])(?:id|stat)\s*:/i.test(head) ? head : text;
  const values = {
    id: readValue(searched, "id", 65),
    stat: readValue(searched, "stat", 32),
    err: readValue(searched, "err", 32),
    submitDate: readValue(searched, "submit ?date", 14),
  };
  return { ...values, text: searched === text ? null : clean(own.join("text:"), MAX_OWN_TEXT) };
}

function readValue(text: string, key: string, maxLength: number): string | null {
  const pattern = new RegExp(`(?<![a-z])${key}\\s{0,3}:\\s{0,3}(?!(?:${KEYS})\\s{0,3}:)([^\\s,;]+)`, "i");
  return clean(pattern.exec(text)?.[1] ?? "", maxLength);
}

/** YYMMDDhhmm as in appendix B, and what vendors make of it: with seconds, and with the century. */
function readDate(written: string | null): number | null {
  if (written === null || !/^(?:\d{10}|\d{12}|\d{14})$/.test(written)) return null;
  // Of twelve digits that begin with 20 these are the century: 2020 is over.
  const hasCentury = written.length === 14 || (written.length === 12 && written.startsWith("20"));
  const digits = hasCentury ? written : `20${written}`;
  const [year = 0, month = 0, day = 0] = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8)].map(Number);
  const [hour = 0, minute = 0, second = 0] = [digits.slice(8, 10), digits.slice(10, 12), digits.slice(12, 14)].map(
    Number,
  );
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59) return null;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Only printable characters; null where none is left. */
function clean(value: string, maxLength: number): string | null {
  const printable = value.replace(/\p{C}/gu, "").trim().slice(0, maxLength);
  return printable === "" ? null : printable;
}

function readState(messageState: number | null, stat: string | null): { state: ReceiptState; word: string | null } {
  const written = stat === null ? null : stateInWords(stat);
  const numbered = messageState === null ? undefined : NUMBERED[messageState];
  if (numbered === undefined) return { state: written ?? "unknown", word: stat };
  const [state, word] = numbered;
  return { state, word: written === state ? stat : word };
}

function stateInWords(stat: string): ReceiptState {
  // A vendor that writes the number of message_state in place of its word.
  if (/^\d$/.test(stat)) return NUMBERED[Number(stat)]?.[0] ?? "unknown";
  const word = stat.toUpperCase();
  return WORDS.find(([beginning]) => word.startsWith(beginning))?.[1] ?? "unknown";
}
