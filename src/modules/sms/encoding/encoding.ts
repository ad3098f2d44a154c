// From a text to the octets of its user data and back. Pure.
// The normal form first (NFC: `a` and U+0303 are one `ã`), then the cheapest alphabet of seven bits that has every character,
// else UTF-16. The encoders throw on what they cannot write, so that nothing is ever missing. Septets stand one to an octet,
// as an SMSC expects them with data coding 0; packed ones are not made.

import type { SmsRouteConfig } from "../../../config/config.ts";
import { type Alphabet, alphabetNamed, type AlphabetName, ESC } from "./gsm-alphabet.ts";

/** `gsm7`: 7 bits a septet, data coding 0. `ucs2`: UTF-16BE, data coding 8. */
export type Encoding = "gsm7" | "ucs2";

/**
 * How the parts of a long text are joined: by a header with a reference of 8 or 16 bits, by the TLVs
 * sar_msg_ref_num and its kin, or not at all: message_payload carries it whole and the SMSC splits.
 */
export type Method = Coding["segmentation"];

/**
 * What an SMSC takes data coding 0 for, its default alphabet (SMPP 3.4 §5.2.19): mostly GSM 03.38, on some SMSCs Latin-1 or
 * ASCII. Septets are translated when the PDU is built, and a text with characters that the charset lacks goes as UTF-16.
 */
export type Dcs0Charset = Coding["defaultCharset"];

/** The last code point of each; the GSM alphabets are the tables' own matter. */
const LAST: Record<Dcs0Charset, number> = { gsm7: 0x10ffff, latin1: 0xff, ascii: 0x7f };

/** What of a route decides how texts are written. `shiftTables` count only with `udh8` or `udh16`, and `gsm7`. */
export type Coding = Pick<SmsRouteConfig, "segmentation" | "shiftTables" | "defaultCharset">;

export interface EncodedText {
  encoding: Encoding;
  /** `gsm` where the encoding is ucs2. */
  alphabet: AlphabetName;
  /** A septet an octet, or UTF-16BE. */
  bytes: Uint8Array;
}

/**
 * Why a body cannot be sent, to follow the member's name, or null: half of a surrogate pair, or a C0
 * control character that is no line break or tab. No alphabet of SMS has them.
 */
export function bodyFault(body: string): string | null {
  if (!body.isWellFormed()) return "must be valid Unicode: it holds half of a surrogate pair";
  // oxlint-disable-next-line no-control-regex
  const [control] = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.exec(body) ?? [];
  if (control === undefined) return null;
  return `must not hold control characters other than line breaks and tabs: it has ${codePointName(control)}`;
}

/** The normal form in which a text is counted and sent. No alphabet of SMS has a tab, and phones show none: a space. */
export function normalForm(body: string): string {
  return body.replaceAll("\t", " ").normalize("NFC");
}

/** The alphabets that a route may use, the one to be preferred first. */
function alphabetsFor({ segmentation, shiftTables, defaultCharset }: Coding): AlphabetName[] {
  // The tables are named in a header, which is never sent beside SAR or a payload.
  const hasHeaders = segmentation === "udh8" || segmentation === "udh16";
  if (!hasHeaders || defaultCharset !== "gsm7" || shiftTables === "off") return ["gsm"];
  return shiftTables === "pt-single" ? ["gsm", "pt-single"] : ["gsm", "pt-locking", "pt-both"];
}

/** Encodes a text in its normal form. Throws RangeError on lone surrogates and on control characters (`bodyFault`). */
export function encodeText(text: string, coding: Coding): EncodedText {
  for (const alphabet of alphabetsFor(coding)) {
    if (isWritable(text, alphabet, coding.defaultCharset))
      return { encoding: "gsm7", alphabet, bytes: encodeSeptets(text, alphabet) };
  }
  return { encoding: "ucs2", alphabet: "gsm", bytes: encodeUcs2(text) };
}

function isWritable(text: string, name: AlphabetName, charset: Dcs0Charset): boolean {
  const { codes } = alphabetNamed(name);
  for (const character of text) if (!codes.has(character) || !isInCharset(character, charset)) return false;
  return true;
}

/**
 * The characters of a text that no alphabet of the route has, each once, in the order of the text: what
 * made it ucs2. Where one alphabet lacks some and another lacks others, those of the alphabet that lacks fewest.
 */
export function offendingCharacters(text: string, coding: Coding): string[] {
  const characters = [...new Set(text)];
  const [fewest = []] = alphabetsFor(coding)
    .map((name) => alphabetNamed(name).codes)
    .map((codes) => characters.filter((each) => !codes.has(each) || !isInCharset(each, coding.defaultCharset)))
    .toSorted((a, b) => a.length - b.length);
  return fewest;
}

/** The characters of a text that stand in the extension table of its alphabet, each once, in the order of the text. */
export function doubledCharacters(text: string, name: AlphabetName): string[] {
  const { codes } = alphabetNamed(name);
  return [...new Set(text)].filter((each) => (codes.get(each) ?? 0) > 0x7f);
}

/** Throws RangeError for a character that the alphabet does not have. */
export function encodeSeptets(text: string, name: AlphabetName): Uint8Array {
  const { codes } = alphabetNamed(name);
  const septets: number[] = [];
  for (const character of text) {
    const code = codes.get(character);
    if (code === undefined) throw new RangeError(`${codePointName(character)} is not in the alphabet ${name}`);
    if (code > 0x7f) septets.push(ESC);
    septets.push(code & 0x7f);
  }
  return Uint8Array.from(septets);
}

/**
 * What a phone shows of septets. TS 23.038 §6.2.1.1: after ESC what the extension lacks is read in the
 * basic table, and ESC after ESC, or at the end, is a space. Octets over 7F become U+FFFD.
 */
export function decodeSeptets(septets: Uint8Array, name: AlphabetName): string {
  const alphabet = alphabetNamed(name);
  let text = "";
  for (let at = 0; at < septets.length; at += 1) {
    const septet = septets[at] ?? 0;
    if (septet !== ESC) text += basicAt(alphabet, septet);
    else {
      at += 1;
      text += extendedAt(alphabet, septets[at]);
    }
  }
  return text;
}

function basicAt(alphabet: Alphabet, septet: number): string {
  return alphabet.basic[septet] ?? "\ufffd";
}

function extendedAt(alphabet: Alphabet, septet: number | undefined): string {
  if (septet === undefined || septet === ESC) return " ";
  return alphabet.extension.get(septet) ?? basicAt(alphabet, septet);
}

function isInCharset(character: string, charset: Dcs0Charset): boolean {
  return (character.codePointAt(0) ?? 0) <= LAST[charset];
}

/** One octet a character. Throws RangeError where the charset lacks one. */
export function encodeCharset(text: string, charset: Exclude<Dcs0Charset, "gsm7">): Uint8Array {
  for (const character of text)
    if (!isInCharset(character, charset)) throw new RangeError(`${JSON.stringify(character)} is not in ${charset}`);
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/** UTF-16, high octet first. Throws RangeError on half of a surrogate pair. */
export function encodeUcs2(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new RangeError("half of a surrogate pair cannot be sent");
  return new Uint8Array(Buffer.from(text, "utf16le").swap16());
}

/** Null: an odd number of octets, or half of a surrogate pair. */
export function decodeUcs2(bytes: Uint8Array): string | null {
  if (bytes.length % 2 !== 0) return null;
  const text = Buffer.from(bytes).swap16().toString("utf16le");
  return text.isWellFormed() ? text : null;
}

function codePointName(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
