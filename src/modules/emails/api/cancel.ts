// Taking back an email that waits. One closure decides and writes: whichever is first in the order of
// the transactions, the claim of an attempt or the cancel, the other sees it. A row in flight is not
// removed, a removed row is not claimed, so what was answered `canceled` is never sent any more.

import { AppError } from "../../../platform/errors.ts";
import type { AcceptDeps } from "./accept.ts";
import type { EmailStatus } from "./schema.ts";
import { getStatus } from "./serialize.ts";
import { endWaiting } from "../events.ts";
import type { EmailScope } from "../store/list-store.ts";
import type { EmailState } from "../store/store.ts";

export type CancelDeps = Pick<AcceptDeps, "emails" | "queue" | "recordEvent" | "commit" | "clock" | "log">;

/** For the 200 of an email whose last answer was lost. */
export const MAY_HAVE_ARRIVED =
  "The answer to an attempt was lost before this: the email may have been delivered all the same.";

/**
 * Ends a waiting email; its record then, or null when the scope has no such email. `isGroup`: all emails of its request that
 * wait. Throws NOT_CANCELABLE when none does.
 */
export async function cancelEmail(scope: EmailScope, uid: string, deps: CancelDeps, isGroup = false) {
  const { emails } = deps;
  const canceled = await deps.commit(() => {
    const found = emails.findState(scope, uid);
    if (found === undefined) return null;
    const end = { status: "canceled", endedAt: deps.clock.now() } as const;
    const group = isGroup ? emails.listGroup(found.email) : [found.email];
    const ended = group.filter(({ id, status }) => status === "queued" && endWaiting(id, end, deps) !== null).length;
    if (ended === 0) throw notCancelable(found);
    const record = emails.findRecord(scope, uid);
    return record === undefined ? null : { record, ended };
  });
  if (canceled === null) return null;
  const { record, ended } = canceled;
  const others = isGroup ? { emails: ended } : {};
  deps.log.event("email.canceled", { id: uid, attempts: record.email.attempts, ...others });
  return record;
}

function notCancelable(found: EmailState): AppError {
  const state = getStatus(found);
  const hasArrived = state === "delivered" || state === "complained";
  const hint = found.email.possibleDuplicate && !hasArrived ? ` ${MAY_HAVE_ARRIVED}` : "";
  return new AppError("NOT_CANCELABLE", `The email cannot be canceled: it is ${state}`, {
    hint: `${whyNot(state)}${hint}`,
  });
}

function whyNot(state: EmailStatus): string {
  switch (state) {
    case "sending":
      return "It is sending: an attempt is running. If that does not deliver it, it is delivery_delayed and can be canceled.";
    case "sent":
      return "It is sent: the relay has it, and nothing can take it back.";
    case "delivered":
    case "complained":
      return `It is ${state}: the recipient's server has it, and nothing can take it back.`;
    case "canceled":
      return "It is canceled already: nothing of it will be sent any more.";
    case "bounced":
    case "failed":
    case "suppressed":
      return `It is ${state}, which is final: nothing of it will be sent any more.`;
    case "scheduled":
    case "queued":
    case "delivery_delayed":
      // Its row is gone without an end: the worker kept the outcome's row from being sent twice (platform/queue/worker.ts).
      return `It is ${state} by its record, but not in the queue: what came of its last attempt could not be stored, and it may have been delivered.`;
  }
}
