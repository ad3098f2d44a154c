/**
 * Addresses as SMSCs write them, and the numbers that we know. Pure.
 */

const COUNTRY = "258";
const NATIONAL_DIGITS = 9;

/** A subscriber's number in E.164, from an address with or without country code, `+` or `00`; what is no number stays. */
export function toE164(address: string): string {
  if (!/^\+?\d+$/.test(address)) return address;
  const digits = address.replace(/^\+/, "").replace(/^00/, "");
  return digits.length === NATIONAL_DIGITS ? `+${COUNTRY}${digits}` : `+${digits}`;
}

/** What two ways of writing one number share; null: it is none. */
export function numberKey(address: string): string | null {
  const digits = address.replace(/\D/g, "").slice(-NATIONAL_DIGITS);
  return digits === "" ? null : digits;
}
