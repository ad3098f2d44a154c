/** Octets of a header field as text: raw ones, and those in encoded-words (RFC 2047). */
import { isUtf8 } from "node:buffer";
import { decodeText } from "../../dsn/charset.ts";

const ENCODED_WORD = /=\?([\w.:+-]{1,40})(?:\*[\w-]{0,20})?\?([bq])\?([^?\r\n]{0,4000})\?=/gi;
const EIGHT_BIT = /[\u0080-\u00ff]/;

/** `octets`: one character an octet. */
export function hasEightBitOctets(octets: string): boolean {
  return EIGHT_BIT.test(octets);
}

/** Raw octets: UTF-8 where they are that, else windows-1252, which every octet is. `octets`: one character an octet. */
export function decodeOctets(octets: string): string {
  if (!EIGHT_BIT.test(octets)) return octets;
  const bytes = Buffer.from(octets, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : new TextDecoder("windows-1252").decode(bytes);
}

/** `value` with its encoded-words decoded; those that nobody can decode stay. May hold control characters. */
export function decodeWords(value: string): string {
  if (!value.includes("=?")) return value;
  let text = "";
  let end = 0;
  // Octets of neighbouring words are decoded together: some programs cut characters in two.
  let octets = "";
  let charset = "";
  const flush = () => {
    text += decodeText(octets, charset);
    octets = "";
  };
  for (const match of value.matchAll(ENCODED_WORD)) {
    const [word, nextCharset = "", encoding = "", content = ""] = match;
    const between = value.slice(end, match.index);
    const isNeighbour = end > 0 && /^[ \t\r\n]*$/.test(between);
    if (!isNeighbour || nextCharset.toLowerCase() !== charset) flush();
    if (!isNeighbour) text += between;
    charset = nextCharset.toLowerCase();
    octets += decodeWord(content, encoding);
    end = match.index + word.length;
  }
  flush();
  return text + value.slice(end);
}

function decodeWord(content: string, encoding: string): string {
  if (encoding.toLowerCase() === "b") return Buffer.from(content, "base64").toString("latin1");
  return content
    .replaceAll("_", " ")
    .replace(/=([0-9A-Fa-f]{2})/g, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** One line that is fit to be shown: what could break it or hide in it is a space. */
export function toOneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ")
    .trim();
}

/** Without the folding: RFC 5322 §2.2.3. */
export function unfold(value: string): string {
  return value.replace(/\r\n(?=[ \t])/g, "");
}

/** Without spaces, tabs and line ends around it. Linear, and a no-break space, which may be half a character, stays. */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0d || unit === 0x0a;
}
