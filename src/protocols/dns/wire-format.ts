/**
 * DNS messages as values: a question to bytes, and bytes to what they say about that question.
 * Pure. An answer is read in this order: is it ours at all, may it be believed, and only then what
 * it holds; CNAMEs are followed inside the message as far as it goes.
 */
import { isUtf8 } from "node:buffer";
import { RECURSION_DESIRED, decode, encode } from "dns-packet";
import type { Answer, DecodedPacket, OptAnswer } from "dns-packet";
import type { MxRecord } from "./lookup.ts";

/** RFC 9715: an answer of this size crosses the internet in one unfragmented datagram. */
export const UDP_PAYLOAD_BYTES = 1232;
/** EDNS(0) with that size (RFC 6891 §6.1.2). */
export const OWN_EDNS: OptAnswer = {
  type: "OPT",
  name: ".",
  udpPayloadSize: UDP_PAYLOAD_BYTES,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};
/** More records than any mail lookup needs; bounds the work that a hostile answer can cause. */
const RECORDS_LIMIT = 1000;
const NAME_BYTES = 253;
const LABEL_BYTES = 63;
/** RFC 1034 names no limit for CNAME chains; 16 is what other mail servers use. */
export const CNAME_LIMIT = 16;
/** Used when a negative answer comes without the SOA record that would say how long it holds. */
const NEGATIVE_TTL_S = 60;

export type QueryType = "A" | "AAAA" | "MX" | "TXT" | "CNAME" | "NS" | "SOA" | "CAA" | "PTR";

/** `name` is normalized (see `normalizeName`); `id` is 0 to 65,535. */
export interface Question {
  id: number;
  name: string;
  type: QueryType;
  hasEdns: boolean;
}

/** The content of one message. `values` of `found` are strings, or MxRecord for MX. */
export type Reading =
  /** Not an answer to this question: to be ignored while waiting for the real one. */
  | { kind: "foreign" }
  | { kind: "truncated" }
  /** The server does not know EDNS: the same server may answer without it. */
  | { kind: "no_edns" }
  | { kind: "refused"; reason: string }
  | { kind: "found"; values: (string | MxRecord)[]; ttlS: number }
  | { kind: "no_data"; ttlS: number }
  | { kind: "no_name"; ttlS: number }
  /** The answer stops at a CNAME: the rest has to be asked for under `target`. */
  | { kind: "continues"; target: string; path: string[]; ttlS: number };

type Message = DecodedPacket & { rcode: string };

/** Lower case (ASCII only, as DNS compares) and without a trailing dot; the root is "". */
export function normalizeName(name: string): string {
  const bare = name.endsWith(".") ? name.slice(0, -1) : name;
  return bare.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Whether a normalized name fits into a question (RFC 1035 §2.3.4) and is free of controls and blanks. */
export function isAskable(name: string): boolean {
  if (Buffer.byteLength(name) > NAME_BYTES || /[\p{Cc}\s]/u.test(name)) return false;
  return name.split(".").every((label) => {
    const bytes = Buffer.byteLength(label);
    return bytes > 0 && bytes <= LABEL_BYTES;
  });
}

export function encodeQuestion(question: Question): Buffer {
  return encode({
    type: "query",
    id: question.id,
    flags: RECURSION_DESIRED,
    questions: [{ type: question.type, name: question.name, class: "IN" }],
    additionals: question.hasEdns ? [OWN_EDNS] : [],
  });
}

/** Never throws: what cannot be read is `refused` with a reason. */
export function readAnswer(bytes: Buffer, question: Question): Reading {
  if (bytes.length < 12 || bytes.readUInt16BE(0) !== question.id) return { kind: "foreign" };
  const count = [4, 6, 8, 10].reduce((sum, offset) => sum + bytes.readUInt16BE(offset), 0);
  if (count > RECORDS_LIMIT) return { kind: "refused", reason: `sent ${count} records` };
  let message: Message;
  try {
    message = decode(bytes) as Message;
  } catch {
    // A truncated message may end within a record (RFC 2181 §9).
    const isTruncated = (bytes.readUInt16BE(2) & 0x8200) === 0x8200;
    return isTruncated ? { kind: "truncated" } : { kind: "refused", reason: "sent a malformed answer" };
  }
  if (!message.flag_qr) return { kind: "foreign" };
  return readMessage(message, question);
}

function readMessage(message: Message, question: Question): Reading {
  const rcode = responseCode(message);
  const isFailure = rcode !== "NOERROR" && rcode !== "NXDOMAIN";
  const asked = message.questions?.[0];
  // Some servers send their errors as a bare header; anything else must repeat the question.
  const isBareError = asked === undefined && isFailure;
  if (!isBareError && !isSameQuestion(message, question)) return { kind: "foreign" };
  // RFC 6891 §7: servers that do not know EDNS say FORMERR, NOTIMP or (a later version) BADVERS.
  if (question.hasEdns && ["FORMERR", "NOTIMP", "BADVERS"].includes(rcode)) return { kind: "no_edns" };
  if (isFailure) return { kind: "refused", reason: `answered ${rcode}` };
  if (message.flag_tc) return { kind: "truncated" };
  return readRecords(message, question);
}

function isSameQuestion(message: Message, question: Question): boolean {
  const [asked] = message.questions ?? [];
  return (
    message.questions?.length === 1 &&
    asked?.type === question.type &&
    asked.class === "IN" &&
    normalizeName(asked.name) === question.name
  );
}

function responseCode(message: Message): string {
  const edns = message.additionals?.find((record) => record.type === "OPT");
  const extended = edns?.type === "OPT" ? edns.extendedRcode : 0;
  if (extended === 0) return message.rcode;
  return extended === 1 && message.rcode === "NOERROR" ? "BADVERS" : `code ${extended * 16} + ${message.rcode}`;
}

function readRecords(message: Message, question: Question): Reading {
  const answers = (message.answers ?? []).filter(isInternet);
  const path: string[] = [];
  let name = question.name;
  let ttlS = Number.POSITIVE_INFINITY;
  // Only records on the way from the name that was asked count: others are noise or an attack.
  for (;;) {
    const own = answers.filter((record) => normalizeName(record.name) === name);
    const wanted = own.filter((record) => record.type === question.type);
    if (wanted.length > 0) {
      const values = wanted.map(readValue);
      ttlS = wanted.reduce((least, record) => Math.min(least, readTtl(record)), ttlS);
      return { kind: "found", values, ttlS };
    }
    const alias = own.find((record) => record.type === "CNAME");
    if (alias?.type !== "CNAME") break;
    const target = normalizeName(alias.data === "." ? "" : alias.data);
    if (target === question.name || path.includes(target)) {
      // Names out of answers stay out of reasons: they are a stranger's text.
      return { kind: "refused", reason: "sent CNAMEs that go in a circle" };
    }
    path.push(target);
    if (path.length > CNAME_LIMIT) return { kind: "refused", reason: `sent more than ${CNAME_LIMIT} CNAMEs` };
    ttlS = Math.min(ttlS, readTtl(alias));
    name = target;
  }
  return readAbsence(message, { path, name, ttlS });
}

function readAbsence(message: Message, end: { path: string[]; name: string; ttlS: number }): Reading {
  const soa = (message.authorities ?? []).find((record) => record.type === "SOA");
  // RFC 2308 §5: a negative answer holds for the lesser of the SOA's own TTL and its MINIMUM.
  const negativeTtlS = soa?.type === "SOA" ? Math.min(readTtl(soa), soa.data.minimum ?? 0) : NEGATIVE_TTL_S;
  const ttlS = Math.min(end.ttlS, negativeTtlS);
  // RFC 6604 §3: after CNAMEs the code speaks of the last name of the chain.
  if (message.rcode === "NXDOMAIN") return { kind: "no_name", ttlS };
  const isOverName = soa !== undefined && isWithin(end.name, normalizeName(soa.name === "." ? "" : soa.name));
  if (end.path.length > 0 && !isOverName) {
    return { kind: "continues", target: end.name, path: end.path, ttlS: end.ttlS };
  }
  const isReferral = soa === undefined && (message.authorities ?? []).some((record) => record.type === "NS");
  // A name server that only points elsewhere has not said that there is nothing.
  if (isReferral && !message.flag_ra && !message.flag_aa) {
    return { kind: "refused", reason: "does not resolve names for us (it sent a referral)" };
  }
  return { kind: "no_data", ttlS };
}

function isWithin(name: string, zone: string): boolean {
  return zone === "" || name === zone || name.endsWith(`.${zone}`);
}

function isInternet(record: Answer): boolean {
  return record.type !== "OPT" && "class" in record && record.class === "IN";
}

function readTtl(record: Answer): number {
  const ttlS = "ttl" in record ? (record.ttl ?? 0) : 0;
  // RFC 2181 §8: a TTL with the top bit set counts as zero.
  return ttlS > 0x7fff_ffff ? 0 : ttlS;
}

function readValue(record: Answer): string | MxRecord {
  switch (record.type) {
    case "MX":
      return { preference: record.data.preference ?? 0, exchange: normalizeName(record.data.exchange) };
    case "CNAME":
    case "NS":
    case "PTR":
      return normalizeName(record.data);
    case "SOA":
      // RFC 2308 §5: so long holds the answer that there is no such record.
      return String(Math.min(readTtl(record), record.data.minimum ?? 0));
    case "TXT":
      return joinStrings(record.data);
    case "CAA":
      // RFC 8659 §4.1.1, as its presentation form without the quotes.
      return `${record.data.flags ?? 0} ${record.data.tag.toLowerCase()} ${record.data.value}`;
    case "A":
    case "AAAA":
      return record.data;
    default:
      // `readRecords` hands in records of the type that was asked for, and QueryType has no others.
      throw new Error(`no lookup asks for ${record.type} records`);
  }
}

function joinStrings(strings: string | Buffer | (string | Buffer)[]): string {
  const parts = Array.isArray(strings) ? strings : [strings];
  const joined = Buffer.concat(parts.map((part) => Buffer.from(part as Uint8Array)));
  // TXT is bytes by the standard; latin1 keeps each of them when they are not UTF-8.
  return joined.toString(isUtf8(joined) ? "utf8" : "latin1");
}
