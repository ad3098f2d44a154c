import type { Random } from "../../platform/random.ts";

const PREFIX = "svc_";
const KEY_BYTES = 32;
const SHOWN_CHARACTERS = 8;

/** A new API key: the key itself, shown once, and what is stored of it. */
export interface NewKey {
  key: string;
  hash: string;
  prefix: string;
}

export function createKey(random: Pick<Random, "bytes">): NewKey {
  const secret = Buffer.from(random.bytes(KEY_BYTES)).toString("base64url");
  const key = PREFIX + secret;
  return { key, hash: hashKey(key), prefix: secret.slice(0, SHOWN_CHARACTERS) };
}

/** What people recognise a key by, which does not open anything. */
export function formatKeyName(name: string, prefix: string): string {
  return `${name} (${PREFIX}${prefix}…)`;
}

/**
 * The form in which a key is stored and looked up: SHA-256, hex. A key holds 256 random bits, so it
 * needs no slow hash; and a look-up by digest gives nothing away through its timing.
 */
export function hashKey(key: string): string {
  return Bun.SHA256.hash(key, "hex");
}
