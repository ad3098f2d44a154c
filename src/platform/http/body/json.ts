// Parses the bytes of a body to a JSON object.

import { AppError } from "../../errors.ts";

// Depth and number of values are measured first, in one pass without allocation: 16 MiB of brackets take JSON.parse three
// seconds, and a body of ten million empty arrays takes gigabytes.

/** Nesting deeper than any request of this API. */
const MAX_DEPTH = 32;
/** Values in one body; a batch of 1,000 emails with every member holds 8,000. */
const MAX_VALUES = 250_000;
/**
 * The parser takes at most 35 ms and 30 MB for so few bytes, whatever they are: their depth is checked in the result.
 * Measuring them first would cost a batch of 100 emails a quarter of its time.
 */
const SMALL_BYTES = 640 * 1024;
/** The parser's own message is cut to this length. */
const MAX_REASON = 200;

const UTF8 = new TextDecoder("utf-8", { fatal: true });
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Throws INVALID_JSON for what is not UTF-8, not JSON or not an object, PAYLOAD_TOO_LARGE for too many values. */
export function parseJsonObject(bytes: Uint8Array): object {
  if (bytes.length === 0) throw missingBody();
  const isSmall = bytes.length <= SMALL_BYTES;
  if (!isSmall) measure(bytes);
  let value: unknown;
  try {
    value = JSON.parse(UTF8.decode(bytes));
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message.replace(/^JSON Parse error: /, "") : "it is not UTF-8";
    throw notJson(why);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const hint = Array.isArray(value) ? { hint: 'Put the list into a member, as in {"emails": […]}.' } : {};
    throw new AppError("INVALID_JSON", "The body must be a JSON object", hint);
  }
  if (isSmall && isDeeperThan(value, MAX_DEPTH)) throw tooDeep();
  return value;
}

export function notJson(why: string): AppError {
  return new AppError("INVALID_JSON", `The body is not JSON: ${why}`.slice(0, MAX_REASON), {
    hint: "Look for a missing quote, or a comma before a closing bracket; from a shell, put the body in a file: -d @email.json.",
  });
}

export function missingBody(): AppError {
  return new AppError("INVALID_JSON", "The body is missing", { hint: "Send a JSON object." });
}

/** Counts values and depth; only the parser knows whether the bytes are JSON at all. */
function measure(bytes: Uint8Array): void {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = findStringEnd(bytes, at + 1);
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
}

/** The index of the quotation mark that ends the string whose content begins at `from`, or the end of the bytes. */
function findStringEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
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
