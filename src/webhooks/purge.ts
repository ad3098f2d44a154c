import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { EventStore } from "../events/store.ts";
import type { Log } from "../log.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookStore } from "./store.ts";

const EVERY_MS = 10 * 60_000;

export interface PurgeParts {
  events: EventStore;
  deliveries: DeliveryStore;
  webhooks: WebhookStore;
  commit: Commit;
  clock: Clock;
  log: Log;
  keepMs: number;
}

/** Forgets events and deliveries whose time is over, a share at a time; the returned function stops that. */
export function purgeEvents(parts: PurgeParts): () => void {
  let isStopped = false;
  let cancel = parts.clock.after(EVERY_MS, run);
  function run(): void {
    const notBefore = parts.clock.now() - parts.keepMs;
    parts
      .commit(() => {
        const deliveries = parts.deliveries.purge(notBefore);
        for (const [webhookId, amount] of deliveries.removed) parts.webhooks.uncount(webhookId, amount);
        return parts.events.purge(notBefore) || deliveries.hasMore;
      })
      .then(
        (hasMore) => again(hasMore ? 0 : EVERY_MS),
        (error: unknown) => {
          if (!isStorageError(error)) parts.log.bug("events", error);
          again(EVERY_MS);
        },
      );
  }
  function again(delayMs: number): void {
    if (!isStopped) cancel = parts.clock.after(delayMs, run);
  }
  return () => {
    isStopped = true;
    cancel();
  };
}
