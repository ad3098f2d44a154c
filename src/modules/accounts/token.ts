// Tokens of sessions and links: 32 random bytes, of which only the SHA-256 is stored.

import type { Random } from "../../platform/random.ts";

const TOKEN_BYTES = 32;
const TOKEN_FORM = /^[A-Za-z0-9_-]{43}$/;

export function createToken(random: Pick<Random, "bytes">): { token: string; hash: string } {
  const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** It holds 256 random bits, so that it needs no slow hash; and a look-up by digest tells nothing by its time. */
export function hashToken(token: string): string {
  return Bun.SHA256.hash(token, "hex");
}

export function isToken(text: string): boolean {
  return TOKEN_FORM.test(text);
}
