// The signed return path (R43): `b+<token>@<host>`, where the token is the base32 of the
// email's 16-byte id and 10 bytes of HMAC-SHA-256 over the id and the recipient. It tells which email
// a bounce speaks of without a look-up, and nobody else can make one, so a forged bounce suppresses
// nobody. Base32 in lower case survives servers that fold the case of local parts.

import { timingSafeEqual } from "node:crypto";
import { idFromBytes, idTime, idToBytes } from "../../platform/uuid.ts";

const PREFIX = "b+";
const ID_BYTES = 16;
const MAC_BYTES = 10;
const TOKEN_CHARACTERS = 42; // ceil((16 + 10) * 8 / 5); with the prefix 44 of the 64 a local part may have
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"; // RFC 4648 §6, lower case

/** Bounces later than this after acceptance are not believed. */
export const RETURN_PATH_LIFE_MS = 30 * 24 * 3_600_000;

/** The envelope sender of the email `id` to `recipient`; the same for each of its attempts. */
export function returnPath(email: { id: string; recipient: string }, host: string, key: Uint8Array): string {
  const id = idToBytes(email.id);
  return `${PREFIX}${encodeBase32(Buffer.concat([id, mac(id, email.recipient, key)]))}@${host}`;
}

export type ReadReturnPath =
  /** The token's form is right; whether it is genuine needs the recipient of the email `id`: isGenuine. */
  { kind: "token"; id: string; mac: Uint8Array; expiresAt: number } | { kind: "other" };

/** Reads the local part of an address that mail came to. */
export function readReturnPath(localPart: string): ReadReturnPath {
  const lower = localPart.toLowerCase();
  if (!lower.startsWith(PREFIX) || lower.length !== PREFIX.length + TOKEN_CHARACTERS) return { kind: "other" };
  const bytes = decodeBase32(lower.slice(PREFIX.length));
  if (bytes === null) return { kind: "other" };
  const id = idFromBytes(bytes.subarray(0, ID_BYTES));
  return { kind: "token", id, mac: bytes.subarray(ID_BYTES), expiresAt: idTime(id) + RETURN_PATH_LIFE_MS };
}

/** Whether the token was made here for this email and recipient, in constant time. */
export function isGenuine(token: { id: string; mac: Uint8Array }, recipient: string, key: Uint8Array): boolean {
  const expected = mac(idToBytes(token.id), recipient, key);
  return token.mac.length === expected.length && timingSafeEqual(token.mac, expected);
}

/** Whether `localPart` is that of the return path, in constant time: for an email whose recipient is not known any more. */
export function isLocalPart(localPart: string, path: string): boolean {
  const given = Buffer.from(localPart.toLowerCase());
  const own = Buffer.from(path.slice(0, path.lastIndexOf("@")).toLowerCase());
  return given.length === own.length && timingSafeEqual(given, own);
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const outer = new Uint8Array(BLOCK_BYTES + DIGEST_BYTES);

/**
 * HMAC-SHA-256 of the id and the recipient, as two plain digests: every email needs one, and an
 * object of Bun's or of node:crypto's for each costs several times as much.
 */
function mac(id: Uint8Array, recipient: string, key: Uint8Array): Uint8Array {
  if (key.length > BLOCK_BYTES) throw new Error("the key is longer than a block of the digest");
  const inner = Buffer.allocUnsafe(BLOCK_BYTES + id.length + Buffer.byteLength(recipient));
  for (let i = 0; i < BLOCK_BYTES; i++) {
    const byte = key[i] ?? 0;
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  inner.set(id, BLOCK_BYTES);
  inner.write(recipient, BLOCK_BYTES + id.length);
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
