// Drops a waiting email, for the operator.

import type { QueueStore } from "./store.ts";
import type { EmailStore } from "../store/store.ts";

/** What became of a message that is to be taken off its queue. `running`: it is being delivered, and was left alone. */
export type Dropped = "dropped" | "running" | "gone";

/** Inside a transaction: ends a waiting email as failed, for this reason. What is on its way to a server goes on. */
export function dropEmail(
  id: number,
  end: { reason: string; now: number },
  { emails, queue }: { emails: EmailStore; queue: QueueStore },
): Dropped {
  const found = emails.stateById(id);
  if ((found?.queue ?? null) === null || found?.email.status !== "queued") return "gone";
  const attempts = queue.removeWaiting(id);
  if (attempts === null) return "running";
  emails.end(id, {
    status: "failed",
    endedAt: end.now,
    sentAt: null,
    deliveredAt: null,
    failedReason: end.reason,
    bounce: null,
    attempts,
  });
  return "dropped";
}
