// The webhooks module: a workspace's webhooks, and the worker that calls them with its events.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import { parseRanges } from "../../platform/ip/address.ts";
import { ownAddresses } from "../../platform/ip/own-addresses.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import type { PauseView } from "../../platform/queue/delivery-pause.ts";
import { Worker } from "../../platform/queue/worker.ts";
import type { Resolver } from "../../protocols/dns/lookup.ts";
import type { Events } from "../events/index.ts";
import type { EventStore } from "../events/store.ts";
import type { WebhookDeps } from "./api/manage.ts";
import { webhookRoutes } from "./api/routes.ts";
import { createCaller } from "./delivery/call.ts";
import { createDeletedWebhookSweep, createPurge } from "./delivery/clean-up.ts";
import { ConcurrencyLimiter, JOBS_PER_WEBHOOK, MAX_CALLS } from "./delivery/concurrency-limiter.ts";
import { createWebhookHandler } from "./delivery/deliver.ts";
import type { DeliveryStore } from "./delivery/delivery-store.ts";
import type { WebhookJobStore } from "./delivery/job-store.ts";
import { RETRY_MS } from "./delivery/outcome.ts";
import { createAddressLookup } from "./delivery/address-lookup.ts";
import type { TargetRules } from "./delivery/target.ts";
import { openSecrets } from "./secrets.ts";
import type { WebhookStore } from "./store.ts";

/** A stop waits for calls no longer than this: what is cut off is called again. */
const STOP_GRACE_MS = 5_000;

export interface WebhookStores {
  webhooks: WebhookStore;
  webhookJobs: WebhookJobStore;
  webhookDeliveries: DeliveryStore;
  events: EventStore;
}

export interface WebhooksDeps {
  events: Pick<Events, "record" | "subscribe">;
  keyring: Keyring;
  pause: PauseView;
  /** Of its own: receivers whose DNS is mute must not take the places of the mail's lookups. */
  resolver: Pick<Resolver, "a" | "aaaa">;
}

export interface Webhooks extends Required<Pick<Component, "start" | "drain">> {
  /** A lane is a webhook. */
  worker: Worker<null>;
  createRoutes(deps: Pick<WebhookDeps, "findPlan" | "pages" | "recordAudit" | "mayReadContent">): AnyElysia;
  /** Removes what deleted webhooks have left; after a commit that deleted some. */
  sweepDeleted(): void;
}

export function createWebhooks(context: Context, opened: WebhookStores, config: Config, deps: WebhooksDeps): Webhooks {
  const { webhooks, webhookJobs: jobs, webhookDeliveries: deliveries } = opened;
  const stores = { webhooks, jobs, deliveries, events: opened.events };
  const { events, keyring, pause, resolver } = deps;
  const rules = buildTargetRules(config);
  const look = createAddressLookup(resolver, context.clock);
  const caller = createCaller(context);
  const limiter = new ConcurrencyLimiter();
  const nudge = (webhookId: number, at: number) => worker.nudge(webhookId, at);
  const { record } = events;
  const secrets = openSecrets(keyring);
  const local = { ...context, commit: context.commitHere };
  const worker = new Worker<null>({
    ...local,
    queue: jobs.queue,
    handler: createWebhookHandler({ ...local, ...stores, record, secrets, look, rules, caller, limiter, nudge }),
    scheduleMs: RETRY_MS,
    maxJobs: MAX_CALLS,
    maxJobsPerLane: JOBS_PER_WEBHOOK,
    siteLimits: limiter,
    pause,
  });
  events.subscribe({
    // Those that pombo turned off too: their owners may recover what they missed.
    isInterested: (workspaceId, type) => webhooks.listSubscriptions(workspaceId, type).length > 0,
    receive({ id: eventId, workspaceId, type, at }) {
      const called = webhooks.listSubscriptions(workspaceId, type).filter(({ isEnabled }) => isEnabled);
      if (called.length === 0) return null;
      for (const { id } of called) jobs.add({ webhookId: id, eventId, nextAt: at, again: "always" });
      return () => {
        for (const { id } of called) nudge(id, at);
      };
    },
  });
  const purge = createPurge({ ...local, ...stores, retentionMs: config.webhooks.retentionMs });
  const sweep = createDeletedWebhookSweep({
    ...local,
    ...stores,
    removed: (webhookId) => worker.forgetLanes([webhookId]),
  });
  return {
    worker,
    createRoutes: (module) =>
      webhookRoutes({
        ...context,
        ...stores,
        record,
        rules,
        look,
        keyring,
        nudge,
        ...module,
        deleted: () => sweep.trigger(),
      }),
    sweepDeleted: () => sweep.trigger(),
    async start() {
      await worker.start();
      sweep.start();
      purge.start();
    },
    async drain(graceMs) {
      void purge.stop();
      void sweep.stop();
      const unrecorded = await worker.stop(Math.min(graceMs, STOP_GRACE_MS));
      caller.close();
      return unrecorded;
    },
  };
}

/** Which addresses may be called: none of this machine's own, unless the operator allows it. */
export function buildTargetRules({
  hostname,
  email,
  webhooks,
}: Pick<Config, "hostname" | "email" | "webhooks">): TargetRules {
  const own = { addresses: ownAddresses(), names: [...new Set([hostname, email.bounceHost])] };
  return { allowHttp: webhooks.allowHttp, allowed: parseRanges(webhooks.allowPrivateRanges), own };
}
