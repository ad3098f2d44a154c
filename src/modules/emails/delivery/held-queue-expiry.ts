// Emails that nobody claims expire all the same. While the operator holds a workspace's queue the worker
// leaves it alone, so the workspace's oldest emails are looked at here: at the time when the first of
// them expires, and every minute. All of an instance's emails live equally long, so that the oldest are
// the first; if later ones are given a shorter lifetime, they fail with the ones before them, late.
// Scheduled ones live from their time on, and are read in the order in which they expire.

import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Context } from "../../../platform/context.ts";
import { shorten } from "../../../protocols/smtp/replies/reply.ts";
import type { Bounce } from "../api/schema.ts";
import { type EndDeps, endWaiting, NO_REPLY } from "../events.ts";
import type { WorkspaceStore } from "../../workspaces/store.ts";
import type { QueueStore } from "../queue/store.ts";

const LOOK_EVERY_MS = 60_000;
/** Emails of each list looked at in one transaction. */
const BATCH = 200;
const MAX_REASON = 512;
const EXPIRED: Bounce = { type: "transient", category: "expired", ...NO_REPLY };

/** Why an email that was not delivered in its time failed. Unix ms; `since`: when it was accepted, or was to be sent. */
export function formatExpiredReason(email: { since: number; expiresAt: number; lastReply: string | null }): string {
  const hours = Math.round((email.expiresAt - email.since) / 3_600_000);
  const last = email.lastReply === null ? "" : `; last answer: ${email.lastReply}`;
  // RFC 3463 §3.5: 4.4.7, delivery time expired.
  return shorten(`4.4.7 Not delivered within ${hours} h${last}`, MAX_REASON);
}

/** `clock`: by which emails expire. */
export interface HeldQueueExpiryDeps extends EndDeps, Pick<Context, "commit" | "clock" | "log"> {
  queue: QueueStore;
  workspaces: Pick<WorkspaceStore, "held">;
  /** The form of words, and of the recipient's address in them, that may stand in the log. */
  show: (words: string, recipient: string) => string;
}

interface Batch {
  expired: { uid: string; recipient: string; attempts: number; reason: string }[];
  /** There may be more that have expired. */
  isMore: boolean;
  /** When the first of those that were looked at and go on waiting expires; null: there is none. */
  nextAt: number | null;
}

/** Fails what expires in queues that are held. To be triggered when a workspace's is. */
export function createHeldQueueExpiry(deps: HeldQueueExpiryDeps): BackgroundTask {
  const { workspaces, commit, clock } = deps;
  return new BackgroundTask({
    ...deps,
    name: "held queues",
    async run(stopping) {
      let nextAt = clock.now() + LOOK_EVERY_MS;
      for (const workspaceId of workspaces.held()) {
        for (let isMore = true; isMore && !stopping.aborted;) {
          const batch = await commit(() => expireBatch(workspaceId, deps));
          for (const { uid, recipient, attempts, reason } of batch.expired) {
            const detail = deps.show(reason, recipient);
            deps.log.event("email.failed", { id: uid, to: deps.show(recipient, recipient), attempt: attempts, detail });
          }
          isMore = batch.isMore;
          nextAt = Math.min(nextAt, batch.nextAt ?? nextAt);
        }
      }
      return Math.max(0, nextAt - clock.now());
    },
  });
}

function expireBatch(workspaceId: number, deps: HeldQueueExpiryDeps): Batch {
  const now = deps.clock.now();
  const batch: Batch = { expired: [], isMore: false, nextAt: null };
  const { emails } = deps;
  for (const oldest of [
    emails.listOldestWaiting(workspaceId, "queued", BATCH),
    emails.listOldestWaiting(workspaceId, "delivery_delayed", BATCH),
    emails.listScheduledByExpiry(workspaceId, BATCH),
  ]) {
    const firstToStay = oldest.findIndex(({ expiresAt }) => expiresAt > now);
    const expired = firstToStay < 0 ? oldest : oldest.slice(0, firstToStay);
    for (const email of expired) {
      const reason = formatExpiredReason({ ...email, since: email.sendAt ?? email.createdAt });
      const end = { status: "failed", endedAt: now, failedReason: reason, bounce: EXPIRED } as const;
      const attempts = endWaiting(email.id, end, deps);
      if (attempts === null) continue;
      batch.expired.push({ uid: email.uid, recipient: email.recipient, attempts, reason });
    }
    if (expired.length === BATCH) batch.isMore = true;
    const next = oldest[firstToStay]?.expiresAt;
    if (next !== undefined) batch.nextAt = Math.min(next, batch.nextAt ?? next);
  }
  return batch;
}
