// Recovery codes: each replaces one code of the authenticator app.

import type { Random } from "../../../platform/random.ts";

const COUNT = 10;
const BYTES = 10;
const GROUP = 4;
/** Crockford's base 32: no i, l, o, u, so that print cannot be misread. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** New ones, as `4f7k-9m2p-x0ta-8rwd`. */
export function createRecoveryCodes(random: Pick<Random, "bytes">): string[] {
  return Array.from({ length: COUNT }, () => {
    const digits = [...random.bytes(BYTES)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
    const bare = (digits.match(/.{5}/g) ?? []).map((bits) => ALPHABET[Number.parseInt(bits, 2)]).join("");
    return (bare.match(new RegExp(`.{${GROUP}}`, "g")) ?? []).join("-");
  });
}

/** The form in which one is stored: of 80 random bits, so that it needs no slow hash. Spaces, hyphens and capitals make no difference. */
export function hashRecoveryCode(code: string): string {
  const bare = code.toLowerCase().replaceAll(/[\s-]/g, "").replaceAll("o", "0").replaceAll(/[il]/g, "1");
  return Bun.SHA256.hash(bare, "hex");
}
