// Phone numbers as SMSCs and people write them. Pure.

const COUNTRY = "258";
const NATIONAL_DIGITS = 9;

/** A subscriber's number in E.164, from an address with or without country code, `+` or `00`; what is no number stays. */
export function toE164(address: string): string {
  if (!/^\+?\d+$/.test(address)) return address;
  const digits = address.replace(/^\+/, "").replace(/^00/, "");
  return digits.length === NATIONAL_DIGITS ? `+${COUNTRY}${digits}` : `+${digits}`;
}

/** The last nine digits, which all ways of writing one number have in common, with and without country code, `+` or `00`; null: it is none. */
export function numberKey(address: string): string | null {
  const digits = address.replace(/\D/g, "").slice(-NATIONAL_DIGITS);
  return digits === "" ? null : digits;
}

export function isSameNumber(a: string, b: string): boolean {
  const key = numberKey(a);
  return key !== null && key === numberKey(b);
}

/** Prefixes that a hint names. */
const MAX_NAMED = 10;

/**
 * What is wrong with a number that cannot be texted, and how it is written if that can be told; null: it is no number at
 * all. `prefixes`: first digits of those that can be, with country code; `length`: their digits.
 */
export function numberAdvice(
  value: string,
  { prefixes, length }: { prefixes: readonly string[]; length: number },
): string | null {
  if (/^ \d+$/.test(value)) return "In a query a plus is written %2B.";
  if (!/^\+?[\d\s().\-\u2010-\u2015/]*$/.test(value) || !/\d/.test(value)) return null;
  const digits = value.replace(/\D/g, "").replace(/^00/, "");
  const isMeant = (each: string) => each.length === length && prefixes.some((prefix) => each.startsWith(prefix));
  const meant = [digits, COUNTRY + digits].find(isMeant);
  const instead = meant === undefined ? "" : `: +${meant}`;
  if (/\D/.test(value.slice(1))) return `Write it without spaces and other signs between the digits${instead}.`;
  if (!value.startsWith("+")) return `Write + and the country code at its beginning${instead}.`;
  if (prefixes.some((prefix) => digits.startsWith(prefix)))
    return `It has ${digits.length} digits behind the +; such a number has ${length}.`;
  const named = prefixes.slice(0, MAX_NAMED).map((prefix) => `+${prefix}`);
  return `Numbers that can be texted begin with ${named.join(", ")}${prefixes.length > MAX_NAMED ? ", …" : ""}.`;
}
