/**
 * Octets in a charset that a stranger names to text, and text to what the rules on words read.
 * Neither throws: an unknown charset is read as UTF-8 where that fits, else as Latin-1. Pure.
 */

/** `octets`: one character an octet. `charset`: as the mail names it, or null. */
export function decodeText(octets: string, charset: string | null): string {
  const isEightBit = /[\u0080-\u00ff]/.test(octets);
  // ISO-2022 writes other scripts in seven bits, after an escape.
  if (!isEightBit && !octets.includes("\u001b")) return octets;
  const bytes = Buffer.from(octets, "latin1");
  // Octets that read as UTF-8 are UTF-8, whatever their label says.
  const text = isEightBit ? tryDecode(bytes, "utf-8", true) : null;
  return text ?? (charset === null ? null : tryDecode(bytes, charset, false)) ?? octets;
}

function tryDecode(bytes: Uint8Array, charset: string, isFatal: boolean): string | null {
  try {
    return new TextDecoder(charset as Bun.Encoding, { fatal: isFatal }).decode(bytes);
  } catch {
    return null;
  }
}

/** Lower case, without accents, white space as single spaces: what the tables of words are written for. */
export function plain(text: string): string {
  return text
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .replace(/[\u2018\u2019\u201b\u00b4`]/g, "'")
    .replace(/[\u2010-\u2015]/g, "-")
    .toLowerCase()
    .replace(/\s+/g, " ")
    .trim();
}
