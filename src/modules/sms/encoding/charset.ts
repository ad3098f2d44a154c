/**
 * Data coding 0 is "the SMSC's default alphabet" (SMPP 3.4 §5.2.19): mostly GSM 03.38, on some SMSCs
 * Latin-1 or ASCII. A route says which, septets are translated when the PDU is built, and a text with
 * characters that the route's charset lacks goes as UTF-16 in the first place. Pure.
 */

export const DCS0_CHARSETS = ["gsm7", "latin1", "ascii"] as const;
export type Dcs0Charset = (typeof DCS0_CHARSETS)[number];

/** The last code point of each; the GSM alphabets are the tables' own matter. */
const LAST: Record<Dcs0Charset, number> = { gsm7: 0x10ffff, latin1: 0xff, ascii: 0x7f };

/** Whether a character can be written in a route's data coding 0 as far as its charset goes. */
export function isInCharset(character: string, charset: Dcs0Charset): boolean {
  return (character.codePointAt(0) ?? 0) <= LAST[charset];
}

/** One octet a character. Throws RangeError where the charset lacks one. */
export function encodeCharset(text: string, charset: Exclude<Dcs0Charset, "gsm7">): Uint8Array {
  for (const character of text)
    if (!isInCharset(character, charset)) throw new RangeError(`${JSON.stringify(character)} is not in ${charset}`);
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/** Latin-1, of which ASCII is a part. */
export function decodeCharset(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}
