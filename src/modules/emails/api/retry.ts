// The next attempt of a delayed email at once, for a person who knows that its cause is mended. Only
// the time of its row changes: the attempt is claimed, counted and put off like any other, a lane or
// site that is held stays held, and a row in flight is left alone, so that asking again and again
// never has two attempts run.

import { AppError } from "../../../platform/errors.ts";
import type { AcceptDeps } from "./accept.ts";
import type { EmailStatus } from "./schema.ts";
import { getStatus } from "./serialize.ts";
import type { EmailScope } from "../store/list-store.ts";
import type { EmailState } from "../store/store.ts";

export type RetryDeps = Pick<AcceptDeps, "emails" | "queue" | "commit" | "clock" | "log" | "nudge">;

/** For the 202 of an email whose last answer was lost. */
export const MAY_COME_TWICE =
  "The answer to an attempt was lost before this: if that one was delivered, the recipient gets the email twice.";

/** Makes a delayed email due as soon as it may be; its record then, or null when the scope has no such email. Throws NOT_RETRYABLE. */
export async function retryEmail(scope: EmailScope, uid: string, deps: RetryDeps) {
  const retried = await deps.commit(() => {
    const found = deps.emails.findState(scope, uid);
    if (found === undefined) return null;
    const now = deps.clock.now();
    const row = found.email.status === "queued" ? deps.queue.retryNow(found.email.id, now) : null;
    if (row === null) throw notRetryable(found);
    const record = deps.emails.findRecord(scope, uid);
    return record === undefined ? null : { record, ...row };
  });
  if (retried === null) return null;
  const { record, laneId, dueAt } = retried;
  deps.nudge(laneId, dueAt);
  deps.log.event("email.retry_requested", { id: uid, attempts: record.queue?.attempts ?? null });
  return record;
}

function notRetryable(found: EmailState): AppError {
  const state = getStatus(found);
  return new AppError("NOT_RETRYABLE", `The email cannot be tried again: it is ${state}`, { hint: whyNot(state) });
}

function whyNot(state: EmailStatus): string {
  switch (state) {
    case "scheduled":
      return "It is scheduled: its first attempt comes at its sendAt, which PATCH /api/v1/emails/{id} changes.";
    case "queued":
      return "It is queued: its first attempt comes by itself.";
    case "sending":
      return "It is sending: an attempt is running now.";
    default:
      return `It is ${state}, and only a delivery_delayed email is tried again; if it is still needed, send a new one.`;
  }
}
