import { type PurgeLoop, purgeRegularly } from "../../../platform/db/purge.ts";
import type { EventStore } from "../../events/store.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookStore } from "../store.ts";

export interface PurgeDeps extends PurgeLoop {
  events: EventStore;
  deliveries: DeliveryStore;
  webhooks: WebhookStore;
  keepMs: number;
}

/** Forgets events and deliveries whose time is over; the returned function stops that. */
export function purgeEvents(deps: PurgeDeps): () => void {
  const { events, deliveries, webhooks, clock, keepMs } = deps;
  return purgeRegularly(deps, "events", () => {
    const notBefore = clock.now() - keepMs;
    const purged = deliveries.purge(notBefore);
    for (const [webhookId, amount] of purged.removed) webhooks.uncount(webhookId, amount);
    return events.purge(notBefore) || purged.hasMore;
  });
}
