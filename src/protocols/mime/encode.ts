/**
 * Content transfer encodings. A text is brought to CRLF line ends and then written as 7bit when
 * that changes nothing on any path, as quoted-printable when it is mostly ASCII, and as base64
 * otherwise. The result is 7-bit clean with lines of at most 998 octets.
 */
import { MAX_LINE_OCTETS } from "./header.ts";

export interface EncodedText {
  encoding: "7bit" | "quoted-printable" | "base64";
  /** Without a CRLF of its own at the end: what follows brings it. */
  bytes: Uint8Array;
}

/** RFC 2045 §6.7 (5) and §6.8. */
const ENCODED_LINE = 76;
const LINE_OCTETS = (ENCODED_LINE / 4) * 3;
const BASE64 = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "latin1");
/** The two characters for twelve bits. */
const PAIRS = Uint16Array.from(
  { length: 4_096 },
  (_, bits) => BASE64.readUInt8(bits >> 6) * 256 + BASE64.readUInt8(bits & 63),
);
const HEX = Buffer.from("0123456789ABCDEF", "latin1");
const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const EQUALS = 0x3d;
const FROM = Buffer.from("From ", "latin1");

/** Chooses the encoding and applies it. Lone surrogates become U+FFFD. */
export function encodeText(text: string): EncodedText {
  const lines = toCrlf(text);
  if (isSevenBit(lines)) return { encoding: "7bit", bytes: Buffer.from(lines, "latin1") };
  return encodeOctets(Buffer.from(lines, "utf8"));
}

/** Octets of a text whose line ends are CRLF; decoded they are the same, to the octet. */
export function encodeOctets(octets: Uint8Array): EncodedText {
  let special = 0;
  // By index and with the length read once, here and below: an iterator costs five times the loop.
  const { length } = octets;
  for (let i = 0; i < length; i++) {
    const octet = octets[i] ?? 0;
    if (octet > 0x7e || octet === EQUALS || (octet < SPACE && octet !== LF && octet !== CR && octet !== TAB)) special++;
  }
  // Three characters for each special octet against four for every three octets.
  if (special * 6 <= length) return { encoding: "quoted-printable", bytes: quotedPrintable(octets) };
  return { encoding: "base64", bytes: base64Lines(octets) };
}

/** CRLF, a bare CR and a bare LF all become CRLF: no other line end may leave the process (R60). */
export function toCrlf(text: string): string {
  return text.replace(/\r\n?|\n/g, "\r\n");
}

/** RFC 2045 §2.7, less what relays are known to change: space at the end of a line, "From " at its start. */
function isSevenBit(lines: string): boolean {
  if (!/^[\t\r\n\x20-\x7e]*$/.test(lines) || /[ \t](?:\r|$)|(?:^|\n)From /.test(lines)) return false;
  for (let start = 0; start <= lines.length;) {
    const found = lines.indexOf("\r\n", start);
    const end = found < 0 ? lines.length : found;
    if (end - start > MAX_LINE_OCTETS) return false;
    start = end + 2;
  }
  return true;
}

/** RFC 2045 §6.7. CRLF ends a line; a CR or LF for itself is an octet like others. */
export function quotedPrintable(octets: Uint8Array): Uint8Array {
  // Worst case: every octet three characters, and a soft break of three after each 73 of them.
  const end = octets.length;
  const out = Buffer.allocUnsafe(end * 3 + Math.ceil((end * 3) / 73) * 3 + 3);
  let length = 0;
  let column = 0;
  for (let i = 0; i < end; i++) {
    const octet = octets[i] ?? 0;
    if (octet === CR && octets[i + 1] === LF) {
      out[length++] = CR;
      out[length++] = LF;
      i++;
      column = 0;
      continue;
    }
    const isLiteral = isLiteralAt(octets, i, column);
    if (column + (isLiteral ? 1 : 3) > ENCODED_LINE - 1) {
      out[length++] = EQUALS;
      out[length++] = CR;
      out[length++] = LF;
      column = 0;
    }
    if (isLiteral) {
      out[length++] = octet;
      column += 1;
    } else {
      out[length++] = EQUALS;
      out[length++] = HEX[octet >> 4] ?? 0;
      out[length++] = HEX[octet & 15] ?? 0;
      column += 3;
    }
  }
  return out.subarray(0, length);
}

function isLiteralAt(octets: Uint8Array, i: number, column: number): boolean {
  const octet = octets[i] ?? 0;
  if (octet === SPACE || octet === TAB) return i + 1 < octets.length && octets[i + 1] !== CR;
  // A "From " at the start of a line would be rewritten by mbox stores, and break the signature.
  if (octet === FROM[0] && column === 0 && FROM.every((want, k) => octets[i + k] === want)) return false;
  return octet > SPACE && octet <= 0x7e && octet !== EQUALS;
}

/** Octets of `octets` octets in base64, in lines. */
export function base64Length(octets: number): number {
  const characters = Math.ceil(octets / 3) * 4;
  return characters + Math.max(0, Math.ceil(characters / ENCODED_LINE) - 1) * 2;
}

/** Writes `octets` in base64 into `out` from `at`, in lines, the last without CRLF; the index after it. */
export function writeBase64(octets: Uint8Array, out: Uint8Array, at: number): number {
  const { length } = octets;
  let i = 0;
  // All lines but the last.
  while (i + LINE_OCTETS < length) {
    for (const end = i + LINE_OCTETS; i < end; i += 3) {
      const group = ((octets[i] ?? 0) << 16) | ((octets[i + 1] ?? 0) << 8) | (octets[i + 2] ?? 0);
      const first = PAIRS[group >> 12] ?? 0;
      const second = PAIRS[group & 0xfff] ?? 0;
      out[at] = first >> 8;
      out[at + 1] = first;
      out[at + 2] = second >> 8;
      out[at + 3] = second;
      at += 4;
    }
    out[at++] = CR;
    out[at++] = LF;
  }
  const last = Buffer.from(octets.subarray(i)).toString("base64");
  return at + Buffer.from(out.buffer, out.byteOffset, out.byteLength).write(last, at, "latin1");
}

/** Lines of 76 characters, the last without CRLF. */
export function base64Lines(octets: Uint8Array): Uint8Array {
  const out = Buffer.allocUnsafe(base64Length(octets.length));
  writeBase64(octets, out, 0);
  return out;
}
