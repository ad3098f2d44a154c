// Removes old events and deliveries, and what deleted webhooks leave, in batches between which others are served.

import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Context } from "../../../platform/context.ts";
import type { EventStore } from "../../events/store.ts";
import type { WebhookStore } from "../store.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookJobStore } from "./job-store.ts";

const PURGE_EVERY_MS = 10 * 60_000;
/** Rows of each kind of a deleted webhook that one transaction removes. */
const BATCH = 500;
const PAUSE_MS = 20;

export interface PurgeDeps extends Pick<Context, "commit" | "clock" | "log"> {
  events: EventStore;
  deliveries: DeliveryStore;
  webhooks: WebhookStore;
  retentionMs: number;
}

/** Removes events and deliveries older than the retention. */
export function createPurge(deps: PurgeDeps): { start(): void; stop(): Promise<void> } {
  const { events, deliveries, webhooks, commit, clock, retentionMs } = deps;
  const purge = () => {
    const notBefore = clock.now() - retentionMs;
    const purged = deliveries.purge(notBefore);
    for (const [webhookId, amount] of purged.removed) webhooks.uncount(webhookId, amount);
    return events.purge(notBefore) || purged.hasMore;
  };
  const task = new BackgroundTask({
    ...deps,
    name: "events",
    run: async () => ((await commit(purge)) ? 0 : PURGE_EVERY_MS),
  });
  return { start: () => task.start(PURGE_EVERY_MS), stop: () => task.stop() };
}

export interface DeletedWebhookSweepDeps extends Pick<Context, "commit" | "clock" | "log"> {
  webhooks: WebhookStore;
  jobs: WebhookJobStore;
  deliveries: DeliveryStore;
  /** Nothing of this webhook is left. */
  removed: (webhookId: number) => void;
}

/**
 * Removes the calls and deliveries of deleted webhooks. The table `webhook_gone` says until the end that there is
 * something to do. Triggered at the start and when a webhook was deleted.
 */
export function createDeletedWebhookSweep(deps: DeletedWebhookSweepDeps): BackgroundTask {
  return new BackgroundTask({
    ...deps,
    name: "deleted webhooks",
    async run() {
      const batch = await deps.commit(() => removeBatch(deps));
      if (batch.kind === "removed") deps.removed(batch.id);
      return batch.kind === "nothing" ? null : PAUSE_MS;
    },
  });
}

type Batch = { kind: "nothing" } | { kind: "more" } | { kind: "removed"; id: number };

function removeBatch({ webhooks, jobs, deliveries }: DeletedWebhookSweepDeps): Batch {
  const id = webhooks.findDeleted();
  if (id === null) return { kind: "nothing" };
  const isMore = [jobs.removeBatch(id, BATCH), deliveries.removeBatch(id, BATCH)];
  if (isMore.includes(true)) return { kind: "more" };
  webhooks.forgetDeleted(id);
  return { kind: "removed", id };
}
