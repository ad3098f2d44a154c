/**
 * Which names and numbers an SMS can come from, and of what kind they are. Pure.
 */

/** `short`: a code that means something in one country's networks only. `long`: a phone number. */
export type SenderKind = "alphanumeric" | "short" | "long";

/** TS 23.040 §9.1.2.5: an alphanumeric address holds 11 characters of the GSM alphabet; here those that every network passes on. */
const ALPHANUMERIC = /^(?=.*[A-Za-z])[A-Za-z0-9\-._&](?:[A-Za-z0-9 \-._&]{0,9}[A-Za-z0-9\-._&])?$/;
const PHONE_NUMBER = /^\+?\d{3,15}$/;
/** Short codes have fewer digits than any number with its country code. */
const SHORT_CODE = /^\d{3,8}$/;

/** The kind of a sender id, or null: nothing can be sent from it. */
export function senderKind(name: string): SenderKind | null {
  if (ALPHANUMERIC.test(name)) return "alphanumeric";
  if (!PHONE_NUMBER.test(name)) return null;
  return SHORT_CODE.test(name) ? "short" : "long";
}
