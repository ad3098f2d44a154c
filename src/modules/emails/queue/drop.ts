// Drops a waiting email, for the operator.

import { type EndDeps, endWaiting } from "../events.ts";
import type { QueueStore } from "./store.ts";

/** What became of a message that is to be taken off its queue. `running`: it is being delivered, and was left alone. */
export type Dropped = "dropped" | "running" | "gone";

/** Inside a transaction: ends a waiting email as failed, for this reason. What is on its way to a server goes on. */
export function dropEmail(
  id: number,
  end: { reason: string; now: number },
  deps: EndDeps & { queue: QueueStore },
): Dropped {
  const found = deps.emails.findStateById(id);
  if ((found?.queue ?? null) === null || found?.email.status !== "queued") return "gone";
  const attempts = endWaiting(id, { status: "failed", endedAt: end.now, failedReason: end.reason }, deps);
  return attempts === null ? "running" : "dropped";
}
