/**
 * Header fields with raw octets above 127, written anew as ASCII: in addresses the names become encoded-words (RFC 2047),
 * parameters take the form of RFC 2231, and elsewhere the words become encoded-words. All else stays as it came. Where a
 * line would become too long, each such octet is a question mark.
 */
import { extendedParameters } from "../attachment.ts";
import { encodedWords, mailboxLine, MAX_LINE_OCTETS } from "../header.ts";
import { rawValue, readText, type HeaderField } from "./header-section.ts";
import { isWhole, readMailboxList } from "./mailbox-list.ts";
import {
  baseName,
  findBoundary,
  indexParameters,
  isEightBit,
  type Parameter,
  parseStructured,
  readParameterOf,
} from "./parameters.ts";
import { decodeOctets, hasEightBitOctets, toOneLine } from "./text.ts";

/** RFC 2047 §2: the length of a line with an encoded-word. */
const FOLD_AT = 76;
/** After that column an encoded-word begins on the next line. */
const MAX_COLUMN_BEFORE_WORD = 40;
const ADDRESS_FIELDS =
  /^(?:(?:resent-)?(?:from|sender|to|cc|bcc|reply-to)|disposition-notification-to|return-receipt-to|errors-to|mail-(?:followup|reply)-to)$/;
const WITH_PARAMETERS = /^content-(?:type|disposition)$/;

/** Of ids, times and tokens: an encoded-word may not stand in them, and what is beyond ASCII is at most a comment. */
const OF_TOKENS =
  /^(?:content-(?:transfer-encoding|id)|mime-version|date|message-id|in-reply-to|references|received|return-path|dkim-signature)$/;

/**
 * What is written for a field, with its CRLF; null: it stays as it came, since it is ASCII. A byte string: addresses that
 * only SMTPUTF8 can carry stay UTF-8, if `keepsAddresses`.
 */
export function encodeField(field: HeaderField, keepsAddresses: boolean): string | null {
  if (!hasEightBitOctets(field.raw)) return null;
  const written = encode(field, keepsAddresses);
  if (written.split("\r\n").every((line) => line.length <= MAX_LINE_OCTETS)) return written;
  return replaceEightBit(withoutBlankBeforeColon(field));
}

function encode(field: HeaderField, keepsAddresses: boolean): string {
  // What looks like a delimiter may not become one.
  if (field.name === "" || field.raw.startsWith("--")) return replaceEightBit(field.raw);
  if (OF_TOKENS.test(field.key)) return replaceEightBit(withoutBlankBeforeColon(field));
  if (WITH_PARAMETERS.test(field.key)) return encodeParameters(field);
  const value = decodeOctets(rawValue(field));
  if (!ADDRESS_FIELDS.test(field.key)) return encodeRuns(field.name, value.split(/([ \t\r\n]+)/));
  const list = readMailboxList(readText(field));
  if (isWhole(list)) {
    const line = mailboxLine(field.name, list.mailboxes);
    if (keepsAddresses || !hasEightBitOctets(line)) return line;
  }
  // Words of what may be an atom, and what stands between them.
  return encodeRuns(field.name, value.split(/([^A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u0080-\uffff]+)/));
}

/** White space before the colon is obsolete, and servers on the way know no such field (RFC 5322 §4.5). */
export function withoutBlankBeforeColon({ name, raw, valueAt }: HeaderField): string {
  return name === "" ? raw : `${name}:${raw.slice(valueAt)}`;
}

/** One question mark for each octet. A line with two hyphens at its start loses one: it may have become a delimiter. */
export function replaceEightBit(octets: string): string {
  return octets.replace(/^-(?=-[^\r\n\u0080-\u00ff]*[\u0080-\u00ff])/gm, "?").replace(/[\u0080-\u00ff]/g, "?");
}

/**
 * `pieces`: words, each with what separates it from the next one. Words beyond ASCII become encoded-words, neighbours of
 * them together with the white space between them.
 */
function encodeRuns(name: string, pieces: string[]): string {
  const out: string[] = [`${name}:`];
  let column = name.length + 1;
  const append = (piece: string) => {
    const lineStart = piece.lastIndexOf("\n") + 1;
    column = lineStart > 0 ? piece.length - lineStart : column + piece.length;
    out.push(piece);
  };
  for (let i = 0; i < pieces.length; i += 2) {
    const separator = pieces[i - 1] ?? "";
    const word = pieces[i] ?? "";
    if (!isBeyondAscii(word)) {
      append(separator + word);
      continue;
    }
    let last = i;
    while (isBeyondAscii(pieces[last + 2]) && isBlank(pieces[last + 1])) last += 2;
    const text = readRun(pieces, i, last);
    appendSeparator(separator, i === 0);
    const words = encodedWords(text, column);
    append(words.join("\r\n "));
    i = last;
    foldAfter(i);
  }
  return `${out.join("")}\r\n`;

  function appendSeparator(separator: string, isFirst: boolean): void {
    const blank = separator === "" && isFirst ? " " : separator;
    const isFolded = isBlank(blank) && !blank.includes("\n") && column + blank.length > MAX_COLUMN_BEFORE_WORD;
    append(isFolded ? "\r\n " : blank);
  }

  function foldAfter(i: number): void {
    const separator = pieces[i + 1] ?? "";
    const next = pieces[i + 2] ?? "";
    if (!isBlank(separator) || separator.includes("\n") || next === "" || isBeyondAscii(next)) return;
    if (column + separator.length + next.length > FOLD_AT) pieces[i + 1] = `\r\n${separator}`;
  }
}

/** White space between encoded-words is not shown (RFC 2047 §6.2): what stands beside one that came belongs to the text. */
function readRun(pieces: string[], first: number, last: number): string {
  const text = pieces
    .slice(first, last + 1)
    .join("")
    .replaceAll("\r\n", "");
  const before = isBlank(pieces[first - 1]) && (pieces[first - 2] ?? "").endsWith("?=") ? " " : "";
  const after = isBlank(pieces[last + 1]) && (pieces[last + 2] ?? "").startsWith("=?") ? " " : "";
  return `${before}${toOneLine(text)}${after}`;
}

function isBeyondAscii(word: string | undefined): boolean {
  return word !== undefined && /[^\0-\x7f]/.test(word);
}

function isBlank(separator: string | undefined): boolean {
  return separator !== undefined && /^[ \t\r\n]+$/.test(separator);
}

function encodeParameters(field: HeaderField): string {
  const { head, parameters } = parseStructured(rawValue(field));
  const known = indexParameters(parameters);
  const affected = new Set(parameters.filter(isEightBit).map(baseName));
  const write = (name: string) =>
    name === "boundary"
      ? writeBoundary(parameters)
      : extendedParameters(name, toOneLine(readParameterOf(known, name) ?? ""));
  const pieces = [head];
  const written = new Set<string>();
  for (const parameter of parameters) {
    const name = baseName(parameter);
    if (!affected.has(name)) pieces.push(parameter.written);
    else if (!written.has(name)) pieces.push(...write(name));
    written.add(name);
  }
  return `${replaceEightBit(`${field.name}: ${pieces.join(";\r\n ")}`)}\r\n`;
}

/** The one that the parts were found by, since another form of it may be read otherwise; none when no part was. */
function writeBoundary(parameters: Parameter[]): string[] {
  const boundary = findBoundary(parameters);
  return boundary === null ? [] : [`boundary="${boundary.replace(/["\\]/g, "\\$&")}"`];
}
