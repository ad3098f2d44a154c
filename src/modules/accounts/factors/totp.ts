// Codes of an authenticator app (RFC 6238), as apps make them by default: SHA-1, 6 digits, 30 seconds.

import type { TOTP } from "otpauth";

const STEP_MS = 30_000;
const DIGITS = 6;
const SECRET_BYTES = 20;
/** A code of the step before or after is right too (§5.2). */
const WINDOW = 1;
/** How far clocks are searched for: an hour, as a wrong time zone makes it, and some minutes. */
const SEARCHED = 130;

export const CODE_FORM = /^\d{6}$/;

export type CodeCheck =
  /** Its step, which counts up. */
  | { kind: "right"; step: number }
  /** It is right at another time: the clock that made it is ahead of ours by so much, or behind (< 0). */
  | { kind: "other_time"; step: number; aheadMs: number }
  | { kind: "wrong" };

export function createTotpSecret(random: { bytes(count: number): Uint8Array }): Uint8Array {
  return random.bytes(SECRET_BYTES);
}

/** Which moment a code is of. It says nothing on whether it was used. */
export async function checkTotpCode(secret: Uint8Array, code: string, now: number): Promise<CodeCheck> {
  if (!CODE_FORM.test(code)) return { kind: "wrong" };
  const totp = await open(secret);
  const current = Math.floor(now / STEP_MS);
  const near = totp.validate({ token: code, timestamp: now, window: WINDOW });
  if (near !== null) return { kind: "right", step: current + near };
  const far = totp.validate({ token: code, timestamp: now, window: SEARCHED });
  return far === null ? { kind: "wrong" } : { kind: "other_time", step: current + far, aheadMs: far * STEP_MS };
}

/** As apps read it from a QR code, and as people type it. */
export async function describeTotp(
  secret: Uint8Array,
  { issuer, account }: { issuer: string; account: string },
): Promise<{ secret: string; uri: string }> {
  const totp = await open(secret, issuer, account);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/** The library is loaded when the first code comes: a start does not wait for it. */
async function open(secret: Uint8Array, issuer = "", label = ""): Promise<TOTP> {
  const { Secret, TOTP: Totp } = await import("otpauth");
  const { buffer } = new Uint8Array(secret);
  const of = { algorithm: "SHA1", digits: DIGITS, period: STEP_MS / 1_000 };
  return new Totp({ secret: new Secret({ buffer }), issuer, label, ...of });
}
