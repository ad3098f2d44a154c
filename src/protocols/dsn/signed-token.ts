// A token that only this instance makes: base32 of an email's 16-byte id and of 10 bytes of HMAC-SHA-256 over the id and
// what it is bound to. It names the email without a look-up. Each purpose has a key of its own. Base32 in lower case
// survives servers that fold the case of local parts.

import { timingSafeEqual } from "node:crypto";
import { idFromBytes, idToBytes } from "../../platform/uuid.ts";

const ID_BYTES = 16;
const MAC_BYTES = 10;
const TOKEN_CHARACTERS = 42; // ceil((16 + 10) * 8 / 5)
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"; // RFC 4648 §6, lower case

/** Its form is right; isGenuine tells whether it was made here. */
export interface SignedToken {
  id: string;
  mac: Uint8Array;
}

export function writeToken(id: string, bound: string, key: Uint8Array): string {
  const bytes = idToBytes(id);
  return encodeBase32(Buffer.concat([bytes, mac(bytes, bound, key)]));
}

/** Null: `text` has not the form of a token. */
export function readToken(text: string): SignedToken | null {
  if (text.length !== TOKEN_CHARACTERS) return null;
  const bytes = decodeBase32(text.toLowerCase());
  return bytes === null ? null : { id: idFromBytes(bytes.subarray(0, ID_BYTES)), mac: bytes.subarray(ID_BYTES) };
}

/** Whether the token was made here for this id and what it is bound to, in constant time. */
export function isGenuine(token: SignedToken, bound: string, key: Uint8Array): boolean {
  const expected = mac(idToBytes(token.id), bound, key);
  return token.mac.length === expected.length && timingSafeEqual(token.mac, expected);
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const outer = new Uint8Array(BLOCK_BYTES + DIGEST_BYTES);

/**
 * HMAC-SHA-256 of the id and what it is bound to, as two plain digests: every email needs one, and an
 * object of Bun's or of node:crypto's for each costs several times as much.
 */
function mac(id: Uint8Array, bound: string, key: Uint8Array): Uint8Array {
  if (key.length > BLOCK_BYTES) throw new Error("the key is longer than a block of the digest");
  const inner = Buffer.allocUnsafe(BLOCK_BYTES + id.length + Buffer.byteLength(bound));
  for (let i = 0; i < BLOCK_BYTES; i++) {
    const byte = key[i] ?? 0;
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  inner.set(id, BLOCK_BYTES);
  inner.write(bound, BLOCK_BYTES + id.length);
  const digest = new Uint8Array(DIGEST_BYTES);
  Bun.SHA256.hash(inner, digest);
  outer.set(digest, BLOCK_BYTES);
  Bun.SHA256.hash(outer, digest);
  return digest.subarray(0, MAC_BYTES);
}

const CODES = Buffer.from(ALPHABET);

function encodeBase32(bytes: Uint8Array): string {
  const text = Buffer.allocUnsafe(Math.ceil((bytes.length * 8) / 5));
  let length = 0;
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text[length++] = CODES[(held >> bits) & 31] ?? 0;
      held &= (1 << bits) - 1;
    }
  }
  if (bits > 0) text[length] = CODES[(held << (5 - bits)) & 31] ?? 0;
  return text.toString("latin1");
}

function decodeBase32(text: string): Uint8Array | null {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of text) {
    const value = ALPHABET.indexOf(character);
    if (value < 0) return null;
    held = (held << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 255);
      held &= (1 << bits) - 1;
    }
  }
  // The unused last bits are zero in what we make: anything else is another spelling of the same token.
  return held === 0 ? new Uint8Array(bytes) : null;
}
