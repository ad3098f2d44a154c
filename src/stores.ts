import type { Config, Plan } from "./config.ts";
import type { Db } from "./db/open.ts";
import { openDomainStore } from "./domains/store.ts";
import { type EmailCounts, openEmailStore } from "./emails/store.ts";
import { openEventStore } from "./events/store.ts";
import { openIdempotencyStore } from "./idempotency/store.ts";
import { openKeyStore } from "./keys/store.ts";
import { openUsageStore } from "./plans/store.ts";
import { openQueueStore } from "./queue/store.ts";
import { openSuppressionStore } from "./suppressions/store.ts";
import { openDeliveryStore } from "./webhooks/delivery-store.ts";
import { openWebhookJobStore } from "./webhooks/job-store.ts";
import { openWebhookStore } from "./webhooks/store.ts";
import { openWorkspaceStore } from "./workspaces/store.ts";

export type Stores = ReturnType<typeof openStores>;

/** All stores over one connection, each with its statements prepared; `counts` is told of the emails. */
export function openStores(db: Db, counts: EmailCounts) {
  return {
    workspaces: openWorkspaceStore(db),
    keys: openKeyStore(db),
    domains: openDomainStore(db),
    emails: openEmailStore(db, counts),
    queue: openQueueStore(db),
    idempotency: openIdempotencyStore(db),
    suppressions: openSuppressionStore(db),
    usage: openUsageStore(db),
    events: openEventStore(db),
    webhooks: openWebhookStore(db),
    webhookJobs: openWebhookJobStore(db),
    webhookDeliveries: openDeliveryStore(db),
  };
}

/** The plan of a workspace. */
export function planFinder(config: Config, stores: Stores): (workspaceId: number) => Plan {
  return (workspaceId) => {
    const name = stores.workspaces.byId(workspaceId)?.plan;
    const plan = name === undefined ? undefined : config.plans[name];
    // A plan that was taken out of the configuration: the default one until the operator sets another.
    const fallback = config.plans[config.workspaces.defaultPlan];
    if (plan === undefined && fallback === undefined) throw new Error("there is no default plan");
    return plan ?? (fallback as Plan);
  };
}
