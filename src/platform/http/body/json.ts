// Parses the bytes of a body to a JSON object.

import { AppError } from "../../errors.ts";
import { LargeText } from "./large-text.ts";

// Depth and number of values are measured first, in one pass without allocation: 16 MiB of brackets take JSON.parse three
// seconds, and a body of ten million empty arrays takes gigabytes.

/** Nesting deeper than any request of this API. */
const MAX_DEPTH = 32;
/** Values in one body; a batch of 1,000 emails with every member holds 8,000. */
const MAX_VALUES = 250_000;
/**
 * Without an attachment: the parser takes at most 35 ms and 30 MB for so few bytes, whatever they are: their depth is checked in the result.
 * Measuring them first would cost a batch of 100 emails a quarter of its time.
 */
const SMALL_BYTES = 640 * 1024;
/** The parser's own message is cut to this length. */
const MAX_REASON = 200;

const UTF8 = new TextDecoder("utf-8", { fatal: true });
/** Strings up to this length are found sooner byte by byte; most are. */
const NEAR_BYTES = 256;
/** A member of this name is left as it came where it is as long: an attachment. */
const LARGE_MEMBER = /(?<!\\)"content"\s*:\s*$/;
const LARGE_BYTES = 64 * 1024;
/** Stands in its place while the rest is parsed. */
const PLACEHOLDER = "\u{10fffd}large ";
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export interface ParsedBody {
  value: object;
  /** Bytes of large members that were left undecoded. */
  leftBytes: number;
}

/**
 * Large members `content` without escapes become LargeText. Throws INVALID_JSON for what is not
 * UTF-8, not JSON or not an object, PAYLOAD_TOO_LARGE for too many values.
 */
export function parseJsonObject(bytes: Uint8Array): ParsedBody {
  if (bytes.length === 0) throw missingBody();
  const isSmall = bytes.length <= LARGE_BYTES || (bytes.length <= SMALL_BYTES && !namesContent(bytes));
  const large = isSmall ? [] : measure(bytes);
  let value: unknown;
  try {
    value = large.length === 0 ? JSON.parse(UTF8.decode(bytes)) : parseAround(large, bytes);
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message.replace(/^JSON Parse error: /, "") : "it is not UTF-8";
    throw notJson(why);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const hint = Array.isArray(value) ? { hint: 'Put the list into a member, as in {"emails": […]}.' } : {};
    throw new AppError("INVALID_JSON", "The body must be a JSON object", hint);
  }
  if (isSmall && isDeeperThan(value, MAX_DEPTH)) throw tooDeep();
  return { value, leftBytes: large.reduce((sum, { start, end }) => sum + end - start, 0) };
}

export function notJson(why: string): AppError {
  return new AppError("INVALID_JSON", `The body is not JSON: ${why}`.slice(0, MAX_REASON), {
    hint: "Look for a missing quote, or a comma before a closing bracket; from a shell, put the body in a file: -d @email.json.",
  });
}

export function missingBody(): AppError {
  return new AppError("INVALID_JSON", "The body is missing", { hint: "Send a JSON object." });
}

/** Looked for by the machine's own means, ten times as fast as measuring. */
function namesContent({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  return Buffer.from(buffer, byteOffset, byteLength).includes('"content"');
}

/** Parses what is around the large strings, and puts these in. */
function parseAround(large: Range[], bytes: Uint8Array): unknown {
  let [rest, from, found] = ["", 0, 0];
  for (const [index, { start, end }] of large.entries()) {
    rest += UTF8.decode(bytes.subarray(from, start)) + PLACEHOLDER + index;
    from = end;
  }
  rest += UTF8.decode(bytes.subarray(from));
  const value: unknown = JSON.parse(rest, (_, each: unknown) => {
    if (typeof each !== "string" || !each.startsWith(PLACEHOLDER)) return each;
    const range = large[Number(each.slice(PLACEHOLDER.length))];
    found += 1;
    return range === undefined ? each : new LargeText(bytes.subarray(range.start, range.end));
  });
  // Somebody else uses the placeholder, or an object has one of them twice.
  return found === large.length ? value : JSON.parse(UTF8.decode(bytes));
}

/** The place of a string, without its quotation marks. */
interface Range {
  start: number;
  end: number;
}

/** Counts values and depth; only the parser knows whether the bytes are JSON at all. The large strings that can be left out. */
function measure(bytes: Uint8Array): Range[] {
  const large: Range[] = [];
  let depth = 0;
  let values = 1;
  let start = 0;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        start = at + 1;
        at = findStringEnd(bytes, start);
        if (at - start >= LARGE_BYTES && canBeLeft(bytes, start, at)) large.push({ start, end: at });
        break;
      case 0x2c: // ,
        values += 1;
        break;
      case 0x7b: // {
      case 0x5b: // [
        values += 1;
        depth += 1;
        if (depth > MAX_DEPTH) throw tooDeep();
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1;
        break;
      default:
    }
  }
  if (values > MAX_VALUES) {
    throw new AppError("PAYLOAD_TOO_LARGE", `The body holds more than ${MAX_VALUES.toLocaleString("en")} values`, {
      hint: "Send less in one request.",
    });
  }
  return large;
}

function canBeLeft(bytes: Uint8Array, start: number, end: number): boolean {
  if (end >= bytes.length || bytes.subarray(start, end).includes(BACKSLASH)) return false;
  const before = bytes.subarray(Math.max(0, start - 1 - NEAR_BYTES), start - 1);
  return LARGE_MEMBER.test(Buffer.from(before).toString("latin1"));
}

/** The index of the quotation mark that ends the string whose content begins at `from`, or the end of the bytes. */
function findStringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; ;) {
    const near = Math.min(bytes.length, at + NEAR_BYTES);
    while (at < near && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
    if (at < near || at >= bytes.length) return at;
    // A long one, such as an attachment: twenty times as fast as byte by byte.
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) return bytes.length;
    let escapes = 0;
    while (quote - escapes > at && bytes[quote - escapes - 1] === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return quote;
    at = quote + 1;
  }
}

function tooDeep(): AppError {
  return new AppError("INVALID_JSON", `The body is nested more than ${MAX_DEPTH} levels deep`);
}

/** Level by level, so that the depth of the input costs no stack. */
function isDeeperThan(value: object, maxDepth: number): boolean {
  let level: object[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    const below: object[] = [];
    for (const holder of level) {
      for (const member of Object.values(holder) as unknown[]) {
        if (typeof member === "object" && member !== null) below.push(member);
      }
    }
    level = below;
  }
  return false;
}
