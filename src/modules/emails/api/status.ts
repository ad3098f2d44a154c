import type { EmailStatus } from "./schema.ts";

/** What the queue knows of an email that is not final. */
export interface QueueState {
  attempts: number;
  isInFlight: boolean;
}

/**
 * An email's status. Non-final ones follow from its queue row (an attempt runs: sending; an attempt
 * was made: delivery_delayed), so that the email's own row is written at acceptance and when final.
 */
export function toStatus(stored: EmailStatus, queue: QueueState | null): EmailStatus {
  if (stored !== "queued" || queue === null) return stored;
  if (queue.isInFlight) return "sending";
  return queue.attempts > 0 ? "delivery_delayed" : "queued";
}
