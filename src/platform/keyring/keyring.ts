// The instance key: 32 bytes that exist outside the database, so that a stolen copy or backup of it gives
// away no signing key and no secret. Its text form, the recovery key, is printed once by `pombo init` and
// can be typed back. Every use has its own key, derived from it: one seals values of the database (each
// bound to its row), one signs for each purpose, and a check value in the database tells at start whether
// the key at hand is the right one. key-file.ts keeps the key on disk.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Random } from "../random.ts";

const KEY_BYTES = 32;
const CHECKSUM_BYTES = 3;
const KEY_PREFIX = "pombo-key-1-";
/** 32 + 3 bytes are exactly 56 characters of 5 bits. */
const BODY_LENGTH = ((KEY_BYTES + CHECKSUM_BYTES) * 8) / 5;
const TEXT_MAX = 1024;
/** Crockford's base 32: no i, l, o, u, so that print cannot be misread. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

const SEAL_VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CHECK_BYTES = 16;

export type ParsedInstanceKey = { kind: "key"; key: Uint8Array } | { kind: "fault"; message: string };

export interface Keyring {
  /** AES-256-GCM under a fresh nonce. `context` (not empty) names the row and member, and must be the same to unseal. */
  seal(plain: Uint8Array, context: string): Uint8Array;
  /** The plain value; throws SealError when the key, the context or the sealed bytes are others. */
  unseal(sealed: Uint8Array, context: string): Uint8Array;
  /** 32 bytes, the same for the same purpose and key. */
  hmacKey(purpose: string): Uint8Array;
  /** A text to keep in the database: equal exactly for equal instance keys, and it gives nothing of the key away. */
  checkValue(): string;
}

/** A sealed value cannot be opened; the message says what to do. */
export class SealError extends Error {
  override readonly name = "SealError";
}

/** A new recovery key: `pombo-key-1-` and 14 groups of 4 characters, the last ones a checksum. */
export function createInstanceKey(random: Random): string {
  const key = random.bytes(KEY_BYTES);
  const body = toBase32(Buffer.concat([key, checksum(key)]));
  return KEY_PREFIX + (body.match(/.{4}/g) ?? []).join("-");
}

/**
 * The 32 bytes of a recovery key as a person types it: capitals, spaces and line breaks, missing hyphens,
 * and o for 0 or i and l for 1 are all right. The fault's message is a whole sentence.
 */
export function parseInstanceKey(text: string): ParsedInstanceKey {
  if (text.length > TEXT_MAX) return fault("is far too long");
  const bare = text.toLowerCase().replace(/[\s-]/g, "");
  const match = /^p[o0]mb[o0]key([0-9il])(.*)$/.exec(bare);
  if (match === null) return fault(`does not begin with "${KEY_PREFIX}"`);
  const [, version = "", rest = ""] = match;
  if (!/^[1il]$/.test(version)) return fault("was made by a newer version of pombo");
  const body = rest.replaceAll("o", "0").replace(/[il]/g, "1");
  const stranger = [...body].find((character) => !ALPHABET.includes(character));
  if (stranger !== undefined) return fault(`holds ${JSON.stringify(stranger)}, which no key holds`);
  if (body.length !== BODY_LENGTH) {
    return fault(`has ${body.length} characters after "${KEY_PREFIX}" where ${BODY_LENGTH} are expected`);
  }
  const bytes = fromBase32(body);
  const key = bytes.subarray(0, KEY_BYTES);
  if (!timingSafeEqual(checksum(key), bytes.subarray(KEY_BYTES))) return fault("has a typing error");
  return { kind: "key", key: new Uint8Array(key) };
}

/**
 * Opens the keyring of an instance key (32 bytes). `random` makes the nonces: GCM breaks when one comes
 * twice, so a seeded source is for tests of nothing but the format.
 */
export function openKeyring(instanceKey: Uint8Array, random: Random): Keyring {
  if (instanceKey.length !== KEY_BYTES) throw new Error(`an instance key has ${KEY_BYTES} bytes`);
  const derive = (purpose: string, bytes: number) =>
    new Uint8Array(hkdfSync("sha256", instanceKey, new Uint8Array(0), purpose, bytes));
  const sealingKey = derive("pombo/seal/1", KEY_BYTES);
  const check = Buffer.from(derive("pombo/check/1", CHECK_BYTES)).toString("base64url");
  return {
    seal: (plain, context) => seal(plain, context, sealingKey, random),
    unseal: (sealed, context) => unseal(sealed, context, sealingKey),
    hmacKey: (purpose) => derive(`pombo/hmac/1/${purpose}`, KEY_BYTES),
    checkValue: () => check,
  };
}

/** Version byte, nonce, ciphertext, tag. */
function seal(plain: Uint8Array, context: string, key: Uint8Array, random: Random): Uint8Array {
  const nonce = random.bytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associated(context));
  const sealed = [Buffer.of(SEAL_VERSION), nonce, cipher.update(plain), cipher.final()];
  return new Uint8Array(Buffer.concat([...sealed, cipher.getAuthTag()]));
}

function unseal(sealed: Uint8Array, context: string, key: Uint8Array): Uint8Array {
  const version = sealed[0];
  if (version !== undefined && version > SEAL_VERSION) {
    throw new SealError(`${context} was sealed by a newer version of pombo: start that version again.`);
  }
  if (version !== SEAL_VERSION || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) {
    throw new SealError(`${context} is damaged in the database: restore it from a backup.`);
  }
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(associated(context));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const plain = decipher.update(sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES));
    return new Uint8Array(Buffer.concat([plain, decipher.final()]));
  } catch {
    // GCM cannot tell a wrong key from a changed value, so both cures are named.
    throw new SealError(
      `${context} cannot be unsealed: the instance key is not the one of this database, or the value was changed. ` +
        "Put back the instance key that belongs to it (the recovery key printed by pombo init), or restore a backup.",
    );
  }
}

/** The version is part of what is authenticated, so that a later format cannot be passed off as this one. */
function associated(context: string): Buffer {
  if (context === "") throw new Error("a sealed value needs a context");
  return Buffer.concat([Buffer.of(SEAL_VERSION), Buffer.from(context, "utf8")]);
}

function checksum(key: Uint8Array): Uint8Array {
  return createHash("sha256").update(KEY_PREFIX).update(key).digest().subarray(0, CHECKSUM_BYTES);
}

function fault(what: string): ParsedInstanceKey {
  return {
    kind: "fault",
    message: `The instance key ${what}: compare it with the recovery key printed by pombo init.`,
  };
}

/** A whole number of 5-byte groups goes in, 8 characters each come out. */
function toBase32(bytes: Uint8Array): string {
  const digits = BigInt(`0x${Buffer.from(bytes).toString("hex")}`).toString(32);
  const text = [...digits].map((digit) => ALPHABET[Number.parseInt(digit, 32)]).join("");
  return text.padStart((bytes.length * 8) / 5, "0");
}

function fromBase32(text: string): Uint8Array {
  const value = [...text].reduce((sum, character) => sum * 32n + BigInt(ALPHABET.indexOf(character)), 0n);
  return Buffer.from(value.toString(16).padStart((text.length * 5) / 4, "0"), "hex");
}
