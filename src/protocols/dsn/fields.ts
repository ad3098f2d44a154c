/**
 * Header fields of mail that strangers wrote: names and values unfolded, parameters of a
 * Content-Type, encoded words. Lenient, because bounces come broken: a parameter that lost its
 * indentation is taken back, a line that is nothing is left out. Nothing here throws. Pure.
 */
import { decodeText } from "./charset.ts";

export interface Field {
  /** Lower case. */
  name: string;
  /** Unfolded, trimmed, at most MAX_VALUE_LENGTH characters; octets above 127 as characters of Latin-1. */
  value: string;
}

/** Of one header, or of one delivery-status: what comes after is not looked at. */
const MAX_FIELDS = 1_000;
const MAX_VALUE_LENGTH = 4_096;
/** Longest value whose encoded words are read. */
const MAX_WORDS_LENGTH = 2_048;

const FIELD = /^([A-Za-z][\w.-]{0,76})[ \t]{0,8}:/;
/** `boundary="x"` on a line of its own, where the line before ends with a semicolon. */
const LOST_PARAMETER = /^[A-Za-z][\w*-]{0,40}=/;

/**
 * The fields in a block of lines. `strayLines` says what a line is that is neither a field nor
 * indented: in a delivery-status it goes on with the field before (`"join"`), in a header it is rubbish.
 */
export function readFields(block: string, strayLines: "join" | "drop" = "drop"): Field[] {
  const fields: Field[] = [];
  for (const line of lines(block)) {
    const last = fields.at(-1);
    const match = FIELD.exec(line);
    if (/^[ \t]/.test(line) || (match === null && last !== undefined && belongsTo(last, line, strayLines))) {
      if (last !== undefined && last.value.length < MAX_VALUE_LENGTH)
        last.value = `${last.value} ${line.trim()}`.slice(0, MAX_VALUE_LENGTH);
    } else if (match !== null) {
      if (fields.length === MAX_FIELDS) break;
      const value = line.slice(match[0].length, match[0].length + MAX_VALUE_LENGTH).trim();
      fields.push({ name: (match[1] ?? "").toLowerCase(), value });
    }
  }
  return fields;
}

function belongsTo(last: Field, line: string, strayLines: "join" | "drop"): boolean {
  return strayLines === "join" || (last.value.endsWith(";") && LOST_PARAMETER.test(line));
}

/** The lines of a text, whatever ends them, one at a time: the caller may stop early. */
export function* lines(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = text.indexOf("\n", start);
    if (end === -1) end = text.length;
    yield text.charCodeAt(end - 1) === 0x0d && end > start ? text.slice(start, end - 1) : text.slice(start, end);
    start = end + 1;
  }
}

export function findValue(fields: Field[], name: string): string | null {
  return fields.find((field) => field.name === name)?.value ?? null;
}

/** A parameter of a structured value (`boundary`, `charset`, `report-type`), without its quotes; null when it is not there. */
export function findParameter(value: string, name: string): string | null {
  const match = new RegExp(
    `;[ \\t]{0,80}${name}[ \\t]{0,8}=[ \\t]{0,8}(?:"([^"]{0,200})"|([^\\s;"]{1,200}))`,
    "i",
  ).exec(value);
  return match === null ? null : (match[1] ?? match[2] ?? null);
}

const ENCODED_WORD = /=\?([\w-]{1,40})(?:\*[\w-]{0,20})?\?([bq])\?([^?\s]{0,2000})\?=/gi;

/** RFC 2047: the encoded words of a value as text; what cannot be decoded stays as it is. */
export function decodeWords(value: string): string {
  const text = value.slice(0, MAX_WORDS_LENGTH);
  if (!text.includes("=?")) return decodeText(text, null);
  return text
    .replace(/\?=[ \t]{1,40}=\?/g, "?==?")
    .replace(ENCODED_WORD, (_word, charset: string, encoding: string, body: string) =>
      decodeText(encoding.toLowerCase() === "b" ? fromBase64(body) : fromQuoted(body.replaceAll("_", " ")), charset),
    );
}

/** The octets of a base64 text, one character each. */
export function fromBase64(text: string): string {
  return Buffer.from(text, "base64").toString("latin1");
}

/** The octets of a quoted-printable text, one character each (RFC 2045 §6.7). */
export function fromQuoted(text: string): string {
  return text
    .replace(/=[ \t]{0,80}\r?\n/g, "")
    .replace(/=([0-9A-Fa-f]{2})/g, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
