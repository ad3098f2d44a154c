/**
 * Content transfer encodings read (RFC 2045 §6), piece by piece. Lenient, as mail programs are: characters that do not
 * belong into base64 are passed over, and an escape of quoted-printable that is none stands for itself.
 */

export type TransferEncoding = "base64" | "quoted-printable" | "identity";

export interface TransferDecoder {
  /** The octets that the encoding stands for, as far as the pieces so far decide. */
  write(piece: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

const NONE = new Uint8Array();
const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const EQUALS = 0x3d;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The six bits of a character; 64: it does not belong to base64. */
const SIX_BITS = Uint8Array.from({ length: 256 }, (_, octet) => {
  const bits = ALPHABET.indexOf(String.fromCharCode(octet));
  return bits < 0 ? 64 : bits;
});
const PIECE = 64 * 1024;

export function createTransferDecoder(encoding: TransferEncoding): TransferDecoder {
  switch (encoding) {
    case "base64":
      return createBase64Decoder();
    case "quoted-printable":
      return createQuotedPrintableDecoder();
    case "identity":
      return { write: (piece) => piece, end: () => NONE };
  }
}

/** All of it at once. */
export function decodeTransfer(octets: Uint8Array, encoding: TransferEncoding): Uint8Array {
  if (encoding === "identity") return octets;
  const decoder = createTransferDecoder(encoding);
  return Buffer.concat([decoder.write(octets), decoder.end()]);
}

export function countDecoded(octets: Uint8Array, encoding: TransferEncoding): number {
  if (encoding === "identity") return octets.length;
  const decoder = createTransferDecoder(encoding);
  let count = 0;
  for (let at = 0; at < octets.length; at += PIECE) count += decoder.write(octets.subarray(at, at + PIECE)).length;
  return count + decoder.end().length;
}

function createBase64Decoder(): TransferDecoder {
  let bits = 0;
  let held = 0;
  return {
    write(piece) {
      const { length } = piece;
      const out = Buffer.allocUnsafe(Math.ceil((length * 3) / 4) + 3);
      let at = 0;
      for (let i = 0; i < length; i++) {
        const octet = piece[i] ?? 0;
        const six = SIX_BITS[octet] ?? 64;
        if (six < 64) {
          bits = ((bits << 6) | six) & 0xfff;
          held += 6;
          if (held >= 8) {
            held -= 8;
            out[at++] = bits >> held;
          }
        } else if (octet === EQUALS) held = 0; // What follows padding begins anew: some programs encode line by line.
      }
      return out.subarray(0, at);
    },
    end: () => NONE,
  };
}

function createQuotedPrintableDecoder(): TransferDecoder {
  let kept: Uint8Array = NONE;
  return {
    write(piece) {
      const octets = kept.length === 0 ? piece : Buffer.concat([kept, piece]);
      const end = findUndecided(octets);
      // A copy: the caller may use the memory of its piece again.
      kept = Uint8Array.from(octets.subarray(end));
      return decodeQuotedPrintable(octets.subarray(0, end), false);
    },
    end() {
      const rest = decodeQuotedPrintable(kept, true);
      kept = NONE;
      return rest;
    },
  };
}

/** Where that begins whose meaning the next octets decide: white space at the end of a line, a part of an escape. */
function findUndecided(octets: Uint8Array): number {
  const { length } = octets;
  const at = skipWhiteSpaceBack(octets, octets[length - 1] === CR ? length - 1 : length);
  if (octets[at - 1] === EQUALS) return skipWhiteSpaceBack(octets, at - 1);
  return at === length && octets[at - 2] === EQUALS ? skipWhiteSpaceBack(octets, at - 2) : at;
}

function skipWhiteSpaceBack(octets: Uint8Array, from: number): number {
  let at = from;
  while (isWhiteSpace(octets[at - 1])) at--;
  return at;
}

function decodeQuotedPrintable(octets: Uint8Array, isEnd: boolean): Uint8Array {
  const { length } = octets;
  const out = Buffer.allocUnsafe(length);
  let at = 0;
  for (let i = 0; i < length; i++) {
    const octet = octets[i] ?? 0;
    if (octet === EQUALS) {
      const high = hexValue(octets[i + 1]);
      const low = hexValue(octets[i + 2]);
      if (high >= 0 && low >= 0) {
        out[at++] = high * 16 + low;
        i += 2;
        continue;
      }
      const next = skipWhiteSpace(octets, i + 1);
      const afterLine = skipLineEnd(octets, next);
      // A soft line break, with what a relay may have added to it.
      if (afterLine > next || (isEnd && next === length)) {
        i = afterLine - 1;
        continue;
      }
    } else if (isWhiteSpace(octet)) {
      // RFC 2045 §6.7 (3): white space at the end of a line was added on the way.
      const next = skipWhiteSpace(octets, i + 1);
      if (next < length && skipLineEnd(octets, next) === next) while (i < next) out[at++] = octets[i++] ?? 0;
      i = next - 1;
      continue;
    }
    out[at++] = octet;
  }
  return out.subarray(0, at);
}

function isWhiteSpace(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB;
}

function skipWhiteSpace(octets: Uint8Array, from: number): number {
  let at = from;
  while (isWhiteSpace(octets[at])) at++;
  return at;
}

/** The index after CRLF or LF; `from` where there is none. */
function skipLineEnd(octets: Uint8Array, from: number): number {
  if (octets[from] === LF) return from + 1;
  return octets[from] === CR && octets[from + 1] === LF ? from + 2 : from;
}

function hexValue(octet: number | undefined): number {
  if (octet === undefined) return -1;
  if (octet >= 0x30 && octet <= 0x39) return octet - 0x30;
  const letter = octet & 0xdf;
  return letter >= 0x41 && letter <= 0x46 ? letter - 0x37 : -1;
}
