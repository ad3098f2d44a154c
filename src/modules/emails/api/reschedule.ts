// Another time for a scheduled email, before its first attempt. One closure decides and writes: whichever is first in the
// order of the transactions, the claim of the attempt or this, the other sees it.

import { AppError } from "../../../platform/errors.ts";
import type { LaneHead } from "../../../platform/queue/job.ts";
import type { EmailScope } from "../store/list-store.ts";
import type { EmailState } from "../store/store.ts";
import type { AcceptDeps } from "./accept.ts";
import { requireSendAt } from "./send-at.ts";
import { getStatus } from "./serialize.ts";

export interface RescheduleDeps extends Pick<
  AcceptDeps,
  "emails" | "queue" | "recordEvent" | "commit" | "clock" | "log" | "nudge"
> {
  settings: { lifetimeMs: number };
}

/**
 * Its record then, or null when the scope has no such email. `isGroup`: all emails of its request that are still scheduled.
 * Throws NOT_SCHEDULED, VALIDATION_ERROR.
 */
export async function rescheduleEmail(
  scope: EmailScope,
  uid: string,
  change: { sendAt: string; isGroup: boolean },
  deps: RescheduleDeps,
) {
  const { emails, queue, clock, settings } = deps;
  const changed = await deps.commit(() => {
    const found = emails.findState(scope, uid);
    if (found === undefined) return null;
    const now = clock.now();
    const sendAt = requireSendAt(change.sendAt, now);
    const expiresAt = sendAt + settings.lifetimeMs;
    const heads: LaneHead[] = [];
    for (const { id } of change.isGroup ? emails.listGroup(found.email) : [found.email]) {
      const head = queue.reschedule(id, { sendAt, expiresAt });
      if (head === null) continue;
      emails.setSendAt(id, sendAt);
      deps.recordEvent("email.scheduled", { id, workspaceId: scope.workspaceId }, now);
      heads.push(head);
    }
    if (heads.length === 0) throw notScheduled(found);
    const record = emails.findRecord(scope, uid);
    return record === undefined ? null : { record, heads, expiresAt };
  });
  if (changed === null) return null;
  const { record, heads, expiresAt } = changed;
  for (const { laneId, dueAt } of heads) deps.nudge(laneId, dueAt, expiresAt);
  deps.log.event("email.rescheduled", { id: uid, emails: heads.length });
  return record;
}

function notScheduled(found: EmailState): AppError {
  const state = getStatus(found);
  const hint =
    found.email.sendAt === null
      ? "It was not given a time when it was sent: only an email with a sendAt can be given another."
      : "Its first attempt has begun, or it has come to an end: its time cannot be changed any more.";
  return new AppError("NOT_SCHEDULED", `The email is not scheduled: it is ${state}`, { hint });
}
