/**
 * Header fields: from values to folded lines of ASCII. Text that ASCII cannot carry, or that
 * folding would change, becomes RFC 2047 encoded-words; names are written as atoms, a quoted
 * string or encoded-words, always from the parsed mailbox. The writer throws on anything that
 * could start a line of its own.
 */
import type { Mailbox } from "./address.ts";

/** RFC 5322 §2.1.1, without CRLF. */
export const MAX_LINE_OCTETS = 998;
/** RFC 2047 §2: 76 for a line with an encoded-word; used for all, so that one limit serves both (78 elsewhere). */
const FOLD_AT = 76;
/** RFC 2047 §2. */
const MAX_ENCODED_WORD = 75;
/** `=?utf-8?Q?` and `?=`. */
const ENCODED_WORD_FRAME = 12;
/** After a longer name no encoded-word of a character fits on the line. */
const MAX_NAME_BESIDE_WORD = 40;
/** A longer word or quoted name is encoded, so that it can be folded. */
const MAX_PLAIN_WORD = 60;

const FIELD_NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,75}$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const ATOM_WORDS = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?: [A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/;
// RFC 2047 §5 (3): what may stand for itself in a phrase; the smaller set is right in a subject too.
const Q_LITERAL = /^[A-Za-z0-9!*+\-/]$/;
const Q_LITERALS = /[A-Za-z0-9!*+\-/ ]/g;

/**
 * Why `subject` cannot be sent, as a sentence for its author, or null. Line breaks, controls and
 * lone surrogates are refused; bidi marks are not, since Arabic and Hebrew subjects use them.
 */
export function subjectFault(subject: string): string | null {
  const found = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.exec(subject)?.[0].codePointAt(0);
  if (found === undefined) return null;
  const codePoint = found.toString(16).toUpperCase().padStart(4, "0");
  return `The subject contains a control character (U+${codePoint}): write it on one line of visible text.`;
}

/**
 * One header field, folded, with its CRLF.
 * @param value printable ASCII without spaces at either end.
 * @throws when the name or value could break out of the field, or a line would pass 998 octets.
 */
export function headerLine(name: string, value: string): string {
  if (!PRINTABLE_ASCII.test(value)) throw new Error(`the value of ${safeName(name)} is not printable ASCII`);
  return fold(name, value);
}

/** The Subject field. @throws on CR, LF or NUL; other controls are encoded and do no harm. */
export function subjectLine(subject: string): string {
  if (/[\r\n\0]/.test(subject)) throw new Error("the subject contains a line break or NUL");
  if (isPlainSubject(subject)) return headerLine("Subject", subject);
  return headerLine("Subject", encodedWords(subject, "Subject: ".length).join(" "));
}

/**
 * A field of any text. ASCII stands as it is, since the value may have a syntax of its own; only text that a reader would
 * not get back is encoded. @throws on CR, LF or NUL.
 */
export function textLine(name: string, text: string): string {
  if (/[\r\n\0]/.test(text)) throw new Error(`the value of ${safeName(name)} contains a line break or NUL`);
  const roomForWord = MAX_LINE_OCTETS - name.length - 2;
  const isRaw =
    isFoldable(text) && !/=\?.*\?=/.test(text) && text.split(" ").every((word) => word.length <= roomForWord);
  if (isRaw) return headerLine(name, text);
  // RFC 2047 §2: a line with an encoded-word has 76 characters, so that after a long name it begins on the next line.
  const isBeside = name.length <= MAX_NAME_BESIDE_WORD;
  const words = encodedWords(text, isBeside ? name.length + 2 : 1);
  return isBeside ? headerLine(name, words.join(" ")) : `${fold(name, "").trimEnd()}\r\n ${words.join("\r\n ")}\r\n`;
}

/**
 * An address field (From, To, Cc, Reply-To), broken after a comma where it can be; nothing without a mailbox. Its bytes are ASCII unless a local
 * part is not: then RFC 6532 §3.2 wants UTF-8 here, and such a message goes over SMTPUTF8 only. Returned as a byte
 * string (one character per octet).
 */
export function mailboxLine(name: string, [first, ...others]: Mailbox[]): string {
  if (first === undefined) return "";
  const start = writeMailbox(name, first, name.length + 2);
  if (others.length === 0) return fold(name, start);
  const pieces = [start, ...others.map((mailbox) => ` ${writeMailbox(name, mailbox, 1)}`)].map((piece, i) =>
    i === others.length ? piece : `${piece},`,
  );
  const broken = pieces.flatMap((piece, i) => (i > 0 && piece.length <= FOLD_AT ? [piece] : splitAtSpaces(piece)));
  return fold(name, pieces.join(""), broken);
}

function writeMailbox(name: string, { displayName, address }: Mailbox, column: number): string {
  if (/\p{Cc}/u.test(address)) throw new Error(`the address in ${safeName(name)} contains a control character`);
  const wire = Buffer.from(address, "utf8").toString("latin1");
  if (displayName === null) return wire;
  if (/[\r\n\0]/.test(displayName)) throw new Error(`the name in ${safeName(name)} contains a line break or NUL`);
  return `${phrase(displayName, column)} <${wire}>`;
}

/** A field of a value and its parameters (RFC 2045 §5.1, RFC 2183), broken between them only. `parameters`: as they are written. */
export function parameterLine(name: string, value: string, parameters: string[]): string {
  const pieces = [value, ...parameters.map((parameter) => ` ${parameter}`)];
  const ended = pieces.map((piece, i) => (i === parameters.length ? piece : `${piece};`));
  const whole = ended.join("");
  if (!PRINTABLE_ASCII.test(whole)) throw new Error(`the value of ${safeName(name)} is not printable ASCII`);
  return fold(name, whole, ended);
}

/** RFC 5322 §3.3 date-time in UTC, with the numeric zone that R47 asks for. `at`: Unix ms. */
export function dateValue(at: number): string {
  const written = new Date(at).toUTCString();
  if (!written.endsWith(" GMT")) throw new Error(`not a time: ${at}`);
  return `${written.slice(0, -3)}+0000`;
}

/** Folding keeps single spaces only for sure. */
function isFoldable(text: string): boolean {
  return PRINTABLE_ASCII.test(text) && !/^ | $| {2}/.test(text);
}

function isPlainSubject(subject: string): boolean {
  // "=?" would be decoded by the reader.
  if (!isFoldable(subject) || subject.includes("=?")) return false;
  return subject.length <= MAX_PLAIN_WORD || subject.split(" ").every((word) => word.length <= MAX_PLAIN_WORD);
}

function phrase(displayName: string, column: number): string {
  if (PRINTABLE_ASCII.test(displayName) && !displayName.includes("=?")) {
    if (ATOM_WORDS.test(displayName) && displayName.split(" ").every((word) => word.length <= MAX_PLAIN_WORD))
      return displayName;
    const quoted = `"${displayName.replace(/["\\]/g, "\\$&")}"`;
    if (quoted.length <= MAX_PLAIN_WORD && !/^ | $| {2}/.test(displayName)) return quoted;
  }
  return encodedWords(displayName, column).join(" ");
}

/**
 * The encoded-words of `text`, each at most 75 characters and holding whole code points; the first
 * one leaves `column` characters free before it on its line. White space between them is not part
 * of the text (RFC 2047 §6.2). Q or B, whichever is shorter.
 */
export function encodedWords(text: string, column: number): string[] {
  const wellFormed = text.toWellFormed();
  const octets = Buffer.byteLength(wellFormed);
  const literals = wellFormed.match(Q_LITERALS)?.length ?? 0;
  const isQ = literals + (octets - literals) * 3 <= Math.ceil(octets / 3) * 4;
  const words: string[] = [];
  let room = Math.min(MAX_ENCODED_WORD, FOLD_AT - column) - ENCODED_WORD_FRAME;
  let content = "";
  let used = 0;
  const flush = () => {
    words.push(isQ ? `=?utf-8?Q?${content}?=` : `=?utf-8?B?${Buffer.from(content, "utf8").toString("base64")}?=`);
    room = MAX_ENCODED_WORD - ENCODED_WORD_FRAME;
    content = "";
    used = 0;
  };
  for (const point of wellFormed) {
    const piece = isQ ? qEncode(point) : point;
    const size = isQ ? piece.length : Buffer.byteLength(point);
    if (used + size > (isQ ? room : Math.floor(room / 4) * 3)) flush();
    content += piece;
    used += size;
  }
  if (content !== "") flush();
  return words;
}

function qEncode(point: string): string {
  if (Q_LITERAL.test(point)) return point;
  if (point === " ") return "_";
  let encoded = "";
  for (const octet of Buffer.from(point, "utf8")) encoded += `=${octet.toString(16).toUpperCase().padStart(2, "0")}`;
  return encoded;
}

function splitAtSpaces(value: string): string[] {
  return value.split(/(?<=[^ ])(?= )/);
}

/** Breaks before pieces, never before the first one. They are the words unless told; all but the first begin with a space. */
function fold(name: string, value: string, pieces?: string[]): string {
  if (!FIELD_NAME.test(name)) throw new Error(`not a header field name: ${safeName(name)}`);
  if (value.startsWith(" ") || value.endsWith(" ")) throw new Error(`the value of ${name} begins or ends with a space`);
  const whole = value === "" ? `${name}:` : `${name}: ${value}`;
  if (whole.length <= FOLD_AT) return `${whole}\r\n`;
  const [first = "", ...others] = pieces ?? splitAtSpaces(value);
  const lines: string[] = [];
  let line = `${name}: ${first}`;
  for (const piece of others) {
    if (line.length + piece.length > FOLD_AT) {
      lines.push(line);
      line = "";
    }
    line += piece;
  }
  lines.push(line);
  if (lines.some((one) => one.length > MAX_LINE_OCTETS))
    throw new Error(`a word in ${name} is longer than a line may be`);
  return `${lines.join("\r\n")}\r\n`;
}

function safeName(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
