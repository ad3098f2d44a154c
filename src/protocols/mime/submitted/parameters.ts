/**
 * Values with parameters, as Content-Type and Content-Disposition have them (RFC 2045 §5.1, RFC 2183), also in the pieces
 * and charsets of RFC 2231. Lenient: names of files come unquoted, with spaces, or in encoded-words.
 */
import { decodeText } from "../../dsn/charset.ts";
import { decodeOctets, decodeWords, hasEightBitOctets, trimBlanks, unfold } from "./text.ts";

export interface Parameter {
  /** Lower case, with the marks of RFC 2231: `filename*0*`. */
  attribute: string;
  /** As it is written, from the attribute on. */
  written: string;
  /** Without quotes, one character an octet. */
  octets: string;
}

export interface Structured {
  /** What stands before the first semicolon, as it is written. */
  head: string;
  parameters: Parameter[];
}

/** More are not looked at. */
const MAX_PARAMETERS = 100;
/** RFC 2046 §5.1.1. */
const MAX_BOUNDARY = 70;
const BOUNDARY = /^[ -~]*[!-~]$/;
const ATTRIBUTE = /^[ \t\r\n]*([^\s=;"]{1,76})[ \t\r\n]*=[ \t\r\n]*/;

/** `value`: one character an octet, folded or not. */
export function parseStructured(value: string): Structured {
  const [head = "", ...rest] = splitAtSemicolons(value);
  return { head: trimBlanks(head), parameters: rest.slice(0, MAX_PARAMETERS).flatMap(readParameter) };
}

/** A semicolon within a quoted string is part of it. */
function splitAtSemicolons(value: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  for (let i = 0; i < value.length; i++) {
    if (value[i] === ";") {
      pieces.push(value.slice(start, i));
      start = i + 1;
      // Elsewhere than at the start of a value a quotation mark is a character like others.
    } else if (value[i] === '"' && /[=\s]/.test(value[i - 1] ?? "")) i = findQuoteEnd(value, i);
  }
  pieces.push(value.slice(start));
  return pieces;
}

/** The index of the mark that closes the quoted string at `start`, or the last index. */
function findQuoteEnd(value: string, start: number): number {
  for (let i = start + 1; i < value.length; i++) {
    if (value[i] === "\\") i++;
    else if (value[i] === '"') return i;
  }
  return value.length - 1;
}

function readParameter(piece: string): Parameter[] {
  const [lead = "", attribute = ""] = ATTRIBUTE.exec(piece) ?? [];
  if (lead === "") return [];
  const written = trimBlanks(piece);
  const value = trimBlanks(unfold(piece.slice(lead.length)));
  const octets = value.startsWith('"') ? value.slice(1, findQuoteEnd(value, 0)).replace(/\\([\s\S])/g, "$1") : value;
  return [{ attribute: attribute.toLowerCase(), written, octets }];
}

/** A parameter that is a token or an identifier: a comment after it is left out. null: it is not there. */
export function findToken(parameters: Parameter[], name: string): string | null {
  const found = parameters.find(({ attribute }) => attribute === name);
  if (found === undefined) return findParameter(parameters, name);
  return found.written.includes('"') ? found.octets : (/^[^\s(]*/.exec(found.octets)?.[0] ?? "");
}

/** Null: there is none, or one that no line can hold (RFC 2046 §5.1.1): the part is no multipart then. */
export function findBoundary(parameters: Parameter[]): string | null {
  const token = findToken(parameters, "boundary") ?? "";
  let end = token.length;
  while (token[end - 1] === " ") end--;
  const boundary = token.slice(0, end);
  return boundary.length <= MAX_BOUNDARY && BOUNDARY.test(boundary) ? boundary : null;
}

/** A parameter as text, decoded; null: it is not there. The form that can say more goes before the plain one. */
export function findParameter(parameters: Parameter[], name: string): string | null {
  return readParameterOf(indexParameters(parameters), name);
}

/** By their attributes; of several the first. */
export function indexParameters(parameters: Parameter[]): Map<string, string> {
  return new Map(parameters.toReversed().map(({ attribute, octets }) => [attribute, octets]));
}

/** The same as findParameter, for those who ask for many. */
export function readParameterOf(known: Map<string, string>, name: string): string | null {
  const whole = known.get(`${name}*`);
  if (whole !== undefined) return decodeExtended(whole);
  const sections = joinSections(known, name);
  if (sections !== null) return sections;
  const plain = known.get(name);
  return plain === undefined ? null : decodeWords(decodeOctets(plain));
}

/** RFC 2231 §3 and §4.1: `name*0`, `name*1*`, …; percent signs count only in those that end with a star. */
function joinSections(known: Map<string, string>, name: string): string | null {
  const first = known.get(`${name}*0*`);
  const { charset, octets } = first === undefined ? { charset: null, octets: "" } : splitCharset(first);
  const start = first === undefined ? known.get(`${name}*0`) : octets;
  if (start === undefined) return null;
  let joined = start;
  for (let n = 1; n < MAX_PARAMETERS; n++) {
    const extended = known.get(`${name}*${n}*`);
    const section = extended === undefined ? known.get(`${name}*${n}`) : decodePercent(extended);
    if (section === undefined) break;
    joined += section;
  }
  return charset === null ? decodeWords(decodeOctets(joined)) : decodeText(joined, charset);
}

function decodeExtended(value: string): string {
  const { charset, octets } = splitCharset(value);
  return decodeText(octets, charset);
}

/** `charset'language'text` */
function splitCharset(value: string): { charset: string; octets: string } {
  const [, charset = "utf-8", text = value] = /^([^']*)'[^']*'([\s\S]*)$/.exec(value) ?? [];
  return { charset: charset === "" ? "utf-8" : charset, octets: decodePercent(text) };
}

function decodePercent(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** `name*0*` and `name*` belong to the parameter `name`. */
export function baseName({ attribute }: Parameter): string {
  return attribute.replace(/\*.*$/, "");
}

export function isEightBit({ written }: Parameter): boolean {
  return hasEightBitOctets(written);
}
