// Header fields that a sender may not write, and why: the composer writes them, or a mail server on the way does.

/** Written by the composer, or by a later hop (RFC 5321 §4.4). */
const COMPOSED =
  /^(?:from|to|cc|bcc|sender|reply-to|subject|date|message-id|mime-version|content-.*|return-path|received|dkim-signature|resent-.*)$/i;
/** The service adds them to what the composer is given. */
const ADDED = /^(?:feedback-id|x-pombo-.*)$/i;
/** RFC 8601 §5 and RFC 8617: they say what a receiving server found. */
const OF_RECEIVERS = /^(?:arc-.*|authentication-results|received-.*|x-original-.*|delivered-to)$/i;

export function isComposed(name: string): boolean {
  return COMPOSED.test(name);
}

/** Why a sender may not write the field, as the end of a sentence that begins with its name; null when it may. */
export function findReservation(name: string): string | null {
  if (/^bcc$/i.test(name)) return "would show who got a blind copy";
  if (COMPOSED.test(name)) return "is written by the service from the email's other members";
  if (ADDED.test(name)) return "is written by the service";
  return OF_RECEIVERS.test(name) ? "is written by the servers that receive the email" : null;
}
