import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import type { Log } from "../../../platform/log.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookJobStore } from "./job-store.ts";
import type { WebhookStore } from "../store.ts";

// Removes the calls and deliveries of deleted webhooks in batches. There may be hundreds of thousands, so others are
// served between two batches. The table `webhook_gone` says until the end that there is something to do.

/** Rows of each kind that one transaction removes. */
const BATCH = 500;
const PAUSE_MS = 20;

export interface DeletedWebhookSweepDeps {
  webhooks: Pick<WebhookStore, "gone" | "forget">;
  jobs: Pick<WebhookJobStore, "removeOf">;
  deliveries: Pick<DeliveryStore, "removeOf">;
  commit: Commit;
  clock: Pick<Clock, "after">;
  log: Log;
  /** Nothing of this webhook is left. */
  removed: (webhookId: number) => void;
}

/** Triggered at the start and when a webhook is deleted. */
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
  const id = webhooks.gone();
  if (id === null) return { kind: "nothing" };
  const isMore = [jobs.removeOf(id, BATCH), deliveries.removeOf(id, BATCH)];
  if (isMore.includes(true)) return { kind: "more" };
  webhooks.forget(id);
  return { kind: "removed", id };
}
