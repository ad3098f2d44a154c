// The placeholders for an erased recipient, and for words to or about it.

/**
 * They replace an address and a number. Both are valid, so that clients can still parse them, and belong to nobody: no domain ends in .invalid (RFC 2606 §2), and no country has the code 999.
 */
export const ERASED_RECIPIENT = { email: "erased@erased.invalid", sms: "+99900000000" } as const;
/** Replaces words. */
export const ERASED = "[erased]";

export function eraseWords<T extends string | null>(words: T): T | typeof ERASED {
  return words === null ? words : ERASED;
}
