// Removes the recipient of a message, or a suppressed address, from the body of an event. Pure.

import { ERASED, ERASED_RECIPIENT } from "../recipients/erased.ts";

interface Body {
  type: string;
  data: Record<string, unknown>;
}

/** Members that hold words: what was sent, and what servers answered. */
const WORDS = ["subject", "body", "failedReason", "lastReply"];

/** An email's members that tell of the recipient in the sender's words. */
const OWN = ["toName", "metadata", "unsubscribe"];

/** `body` as it is stored, and sent. */
export function eraseEventBody(body: string): string {
  const { type, data, ...rest } = JSON.parse(body) as Body;
  const erased = { ...data };
  const channel = type.startsWith("sms.") || data["channel"] === "sms" ? "sms" : "email";
  // The `to` of a received message is a number of the workspace.
  const person = type === "sms.received" ? "from" : type.startsWith("suppression.") ? "address" : "to";
  erased[person] = ERASED_RECIPIENT[channel];
  for (const name of WORDS) if (typeof data[name] === "string") erased[name] = ERASED;
  for (const name of OWN) if (name in data) erased[name] = null;
  // In the order of the members as they were recorded.
  return JSON.stringify({ type, ...rest, data: erased });
}
