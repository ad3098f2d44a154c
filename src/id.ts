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

/** The canonical text form of 16 bytes. */
export function idFromBytes(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

/** The 16 bytes of a UUID in text form. */
export function idToBytes(id: string): Uint8Array {
  return new Uint8Array(Buffer.from(id.replaceAll("-", ""), "hex"));
}

/** When a UUIDv7 was made, Unix milliseconds. */
export function idTime(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
