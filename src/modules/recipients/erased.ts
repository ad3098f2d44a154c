// What stands in records for an erased recipient and for what was said to or about it.

/**
 * Instead of an address and of a number: valid ones, so that clients can go on reading them as such, that belong to nobody.
 * No domain ends in .invalid (RFC 2606 §2), and no country has the code 999.
 */
export const ERASED_RECIPIENT = { email: "erased@erased.invalid", sms: "+99900000000" } as const;
/** Instead of words. */
export const ERASED = "[erased]";

export function eraseWords<T extends string | null>(words: T): T | typeof ERASED {
  return words === null ? words : ERASED;
}
