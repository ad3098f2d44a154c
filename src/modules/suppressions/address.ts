// The address of a suppression: an email address or a phone number, brought to the one form in which the
// list holds it. Accepting an email, a hard bounce, the routes and the operator's import all compare
// by that form, so that what was suppressed in one spelling is suppressed in every other.

import type { SUPPRESSION_CHANNELS, SUPPRESSION_REASONS } from "../../platform/db/schema/schema.ts";
import { comparableAddress, parseAddress } from "../../protocols/mime/address.ts";

export type Channel = (typeof SUPPRESSION_CHANNELS)[number];
export type Reason = (typeof SUPPRESSION_REASONS)[number];

/** Why an address of a channel can be suppressed. */
export const REASONS_OF: Record<Channel, readonly Reason[]> = {
  email: ["hard_bounce", "complaint", "manual", "unsubscribe"],
  sms: ["opt_out", "invalid_number", "manual"],
};
/** Why it can be suppressed for one list only. */
export const REASONS_OF_LIST: readonly Reason[] = ["unsubscribe", "manual"];

/** `address` in the form that is stored and compared. */
export type ReadAddress =
  | { kind: "address"; channel: Channel; address: string }
  /** Follows the member's name. */
  | { kind: "fault"; message: string };

/** E.164: at most fifteen digits, and no country code begins with 0. The shortest numbers of a country have seven. */
const PHONE_NUMBER = /^\+[1-9]\d{6,14}$/;
/** As people write phone numbers. */
const LIKE_A_NUMBER = /^\+?[\d ().-]+$/;

/** Reads an email address, or a phone number in E.164; what has an @ is meant as the first. */
export function readAddress(text: string): ReadAddress {
  if (PHONE_NUMBER.test(text)) return { kind: "address", channel: "sms", address: text };
  if (LIKE_A_NUMBER.test(text))
    return fault("is not a phone number: write + and the country code, then only digits, like +258841234567");
  if (!text.includes("@"))
    return fault(
      "is neither an email address nor a phone number: write it like name@example.com, or like +258841234567",
    );
  const parsed = parseAddress(text);
  if (parsed.kind === "mailbox")
    return { kind: "address", channel: "email", address: comparableAddress(parsed.mailbox) };
  return fault(`is not a usable address: ${parsed.message.charAt(0).toLowerCase()}${parsed.message.slice(1)}`);
}

/** Of an address that its schema has let through. */
export function requireAddress(text: string): { channel: Channel; address: string } {
  const read = readAddress(text);
  if (read.kind === "address") return read;
  throw new Error(`an address passed its schema and not its reader: ${read.message}`);
}

function fault(message: string): ReadAddress {
  return { kind: "fault", message };
}
