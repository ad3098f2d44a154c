import type { Random } from "./random.ts";

/**
 * A UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then 74 random bits, in lower-case
 * canonical form. Ids made later sort later, to the millisecond.
 */
export function newId(nowMs: number, random: Random): string {
  const bytes = random.bytes(16);
  for (let i = 5, rest = nowMs; i >= 0; i--, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return idFromBytes(bytes);
}

/** `count` ids of one moment, in the order in which they sort. */
export function newIds(count: number, nowMs: number, random: Random): string[] {
  return Array.from({ length: count }, () => newId(nowMs, random)).toSorted();
}

const DIGITS = Buffer.from("0123456789abcdef");
/** Where in the text each byte stands. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const text = Buffer.from("00000000-0000-0000-0000-000000000000");

/** The canonical text form of 16 bytes. Each request has an id and each email: one string is made, and no parts of it. */
export function idFromBytes(bytes: Uint8Array): string {
  for (let index = 0; index < PLACES.length; index++) {
    const place = PLACES[index] ?? 0;
    const byte = bytes[index] ?? 0;
    text[place] = DIGITS[byte >> 4] ?? 0;
    text[place + 1] = DIGITS[byte & 15] ?? 0;
  }
  return text.toString("latin1");
}

/** The 16 bytes of a UUID in text form. */
export function idToBytes(id: string): Uint8Array {
  return Buffer.from(id.replaceAll("-", ""), "hex");
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether it is written as an id is, in either case. */
export function isId(written: string): boolean {
  return UUID.test(written);
}

/** When a UUIDv7 was made, Unix milliseconds. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
