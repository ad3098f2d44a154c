/** The fields of a header section: where each stands, and what it says. */
import { decodeOctets, decodeWords, toOneLine, trimBlanks, unfold } from "./text.ts";

export interface HeaderField {
  /** As it is written; "" for a line in the header of a part that is no field. */
  name: string;
  /** Lower case. */
  key: string;
  /** All of it with its CRLF, one character an octet. */
  raw: string;
  /** In `raw`, after the colon. */
  valueAt: number;
  /** In the message. */
  start: number;
  /** What is written instead; "": nothing. null: it stays as it is. */
  written: string | null;
}

export type HeaderSection =
  | { kind: "fields"; fields: HeaderField[] }
  /** `at`: where in the message the line begins that cannot be read. */
  | { kind: "stray"; at: number; isContinuation: boolean };

/** One header section, of the message or of a part. */
export const MAX_HEADER_OCTETS = 256 * 1024;
/** RFC 5322 §2.2 ftext; white space before the colon is obsolete, but written (§4.5). */
const FIELD = /^([!-9;-~]{1,76})[ \t]*:/;

/**
 * Reads `octets` from `start` to `end`, which is after a CRLF or at the start. In the header of a part (`isLenient`) a line
 * that is nothing is kept as a field without a name: parts come from other programs than the message.
 */
export function readFields(octets: Buffer, start: number, end: number, isLenient: boolean): HeaderSection {
  const text = octets.toString("latin1", start, end);
  const fields: HeaderField[] = [];
  for (let at = 0; at < text.length;) {
    const next = findFieldEnd(text, at);
    const raw = text.slice(at, next);
    const [head = "", name = ""] = FIELD.exec(raw) ?? [];
    if (head === "" && !isLenient) return { kind: "stray", at: start + at, isContinuation: /^[ \t]/.test(raw) };
    fields.push({ name, key: name.toLowerCase(), raw, valueAt: head.length, start: start + at, written: null });
    at = next;
  }
  return { kind: "fields", fields };
}

/** After the last line that goes on with what begins at `at`. */
function findFieldEnd(text: string, at: number): number {
  for (let end = at; ;) {
    const lineEnd = text.indexOf("\r\n", end);
    end = lineEnd < 0 ? text.length : lineEnd + 2;
    if (text[end] !== " " && text[end] !== "\t") return end;
  }
}

/** As it is written, without the last CRLF, one character an octet. */
export function rawValue(field: HeaderField): string {
  return field.raw.slice(field.valueAt, -2);
}

/** Unfolded, raw octets decoded; encoded-words as they are. */
export function readText(field: HeaderField): string {
  return trimBlanks(decodeOctets(unfold(rawValue(field))));
}

/** On one line, decoded. */
export function readDecoded(field: HeaderField): string {
  return toOneLine(decodeWords(readText(field)));
}
