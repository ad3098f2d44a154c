/**
 * A mail server's replies, turned from bytes into values. The reader takes chunks as the network
 * cuts them, joins the lines of a multi-line reply and hands out whole replies in order; it is
 * bounded, because the server is a stranger (R24). The cleaner makes a reply safe for logs,
 * records and terminals (R36). Pure: no sockets, no time.
 */

/** One whole reply of a server. */
export interface Reply {
  /** The basic code, 200–599. */
  code: number;
  /** The enhanced status code of RFC 3463 (`5.1.1`) from the first line that has one, or null. */
  enhanced: string | null;
  /** The text after the code on each line, enhanced code included, as UTF-8 and cleaned; at most 100 lines of 512 characters. */
  lines: string[];
  /** The lines joined with a space, cleaned, ≤ 512 characters; an enhanced code repeated on later lines is left out. */
  text: string;
}

/** The server's bytes are not an SMTP reply, or pass a limit. The connection cannot go on. */
export class ReplyError extends Error {
  override readonly name = "ReplyError";
  /** The whole replies that came before the fault, in the same bytes: a 250 to the dot counts, whatever follows it. */
  replies: Reply[] = [];
}

/** Four times RFC 5321 §4.5.3.1.5, which allows 512 octets: real servers pass that. */
export const MAX_LINE_BYTES = 2_048;
export const MAX_REPLY_LINES = 100;
/** The length of a cleaned reply (R36), in characters. */
const MAX_TEXT_LENGTH = 512;

const LINE = /^([2-5]\d\d)([ -]|$)/;
// RFC 3463 §2: class 2, 4 or 5, then two numbers of up to three digits.
// Some gateways put a # in front.
const ENHANCED = /^#?([245]\.\d{1,3}\.\d{1,3})(?=[ ;,:]|$)/;

/** Reads the replies of one connection. After a ReplyError it is of no more use. */
export class ReplyReader {
  /** The bytes of a line whose end has not come yet, one character a byte. */
  #rest = "";
  #code = 0;
  #lines: string[] = [];

  /** True while part of a reply has been read: a later line, or the end of this one, must come. */
  get hasPartial(): boolean {
    return this.#rest !== "" || this.#lines.length > 0;
  }

  /** Takes the next bytes; returns the replies they complete, in order. Throws ReplyError. */
  push(chunk: Uint8Array): Reply[] {
    const replies: Reply[] = [];
    try {
      this.#read(chunk, replies);
    } catch (error) {
      if (error instanceof ReplyError) error.replies = replies;
      throw error;
    }
    return replies;
  }

  #read(chunk: Uint8Array, replies: Reply[]): void {
    const text = this.#rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    let start = 0;
    // Servers that end lines with a bare LF exist; on our side of the wire nothing depends on it.
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      const isCrlf = end > start && text.charCodeAt(end - 1) === 0x0d;
      const reply = this.#takeLine(text.slice(start, isCrlf ? end - 1 : end));
      if (reply !== null) replies.push(reply);
      start = end + 1;
    }
    this.#rest = text.slice(start);
    if (this.#rest.length > MAX_LINE_BYTES) throw new ReplyError(`a reply line of more than ${MAX_LINE_BYTES} bytes`);
  }

  #takeLine(line: string): Reply | null {
    if (line.length > MAX_LINE_BYTES) throw new ReplyError(`a reply line of more than ${MAX_LINE_BYTES} bytes`);
    const match = LINE.exec(line);
    if (match === null) throw new ReplyError(`not an SMTP reply: ${shorten(cleanReply(decode(line)), 80)}`);
    const code = Number(match[1]);
    // RFC 5321 §4.2.1: every line of one reply carries the same code.
    if (this.#lines.length > 0 && code !== this.#code) throw new ReplyError("two codes in one reply");
    if (this.#lines.length === MAX_REPLY_LINES) throw new ReplyError(`a reply of more than ${MAX_REPLY_LINES} lines`);
    this.#code = code;
    this.#lines.push(cleanReply(decode(line.slice(4))));
    if (match[2] === "-") return null;
    const lines = this.#lines;
    this.#lines = [];
    return makeReply(code, lines);
  }
}

/** A reply made from its code and lines. Also for the answers pombo gives itself, such as a size limit known beforehand (R19). */
export function makeReply(code: number, lines: string[]): Reply {
  const first = lines[0] ?? "";
  let enhanced = enhancedIn(first);
  if (lines.length === 1) return { code, enhanced, lines, text: first };
  const parts: string[] = [];
  for (const line of lines) {
    const match = ENHANCED.exec(line);
    const repeated = parts.length > 0 && match?.[1] === enhanced ? (match?.[0] ?? "") : "";
    parts.push(line.slice(repeated.length));
    enhanced ??= match?.[1] ?? null;
  }
  return { code, enhanced, lines, text: cleanReply(parts.join(" ")) };
}

/** The enhanced code that a line of a reply begins with, or null. */
export function enhancedIn(line: string): string | null {
  return ENHANCED.exec(line)?.[1] ?? null;
}

/** A reply as people read it: `550 5.1.1 No such user`, cleaned, ≤ 512 characters. */
export function formatReply(reply: Reply): string {
  return shorten(`${reply.code} ${reply.text}`.trimEnd(), MAX_TEXT_LENGTH);
}

/** At most `length` of its UTF-16 units, and never half a character. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, Math.max(0, length)).replace(/\p{Cs}$/u, "");
}

const ASCII = /^[\0-\x7f]*$/;
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
// ECMA-48 escape sequences: control strings (OSC, DCS and kin) to their end, CSI sequences, and the short ones,
// each by its one-character introducer too.
const ESCAPES =
  // oxlint-disable-next-line no-control-regex
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|(?:\x1b\[|\x9b)[\x20-\x3f]*[\x40-\x7e]?|\x1b[\x20-\x2f]*[\x30-\x7e]?/g;
/** Longest input looked at; a whole reply at its limits is 200 KB, of which 512 characters remain anyway. */
const MAX_CLEANED_INPUT = 8_192;

/** Controls, format characters (bidirectional ones, zero width), separators of lines, halves of characters, unassigned and private ones. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+/gu;
/** Marks on one letter beyond these are there to cover what stands around it. */
const PILED_MARKS = /(\p{M}{3})\p{M}+/gu;

/**
 * Visible text only, ≤ 512 characters, runs of white space as one space: escape sequences, controls
 * and invisible characters are removed, because the text goes to terminals, logs, pages and webhooks (R36).
 */
export function cleanReply(text: string): string {
  if (text.length <= MAX_TEXT_LENGTH && PRINTABLE.test(text) && !text.includes("  ")) return text;
  const cleaned = text
    .slice(0, MAX_CLEANED_INPUT)
    .replace(ESCAPES, "")
    .replace(/\s+/g, " ")
    .replace(UNSEEN, "")
    .replace(PILED_MARKS, "$1")
    .replace(/ {2,}/g, " ")
    .trim();
  return shorten(cleaned, MAX_TEXT_LENGTH).trimEnd();
}

/** Bytes, one character each, as UTF-8; what is none is U+FFFD, so that nobody takes what is left for the whole. */
function decode(bytes: string): string {
  return ASCII.test(bytes) ? bytes : Buffer.from(bytes, "latin1").toString("utf8");
}
