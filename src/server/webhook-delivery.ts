import type { Environment } from "../platform/environment.ts";
import { BUILD } from "../platform/build-info.ts";
import type { Config } from "../config/config.ts";
import { ownAddresses } from "../platform/ip/own-addresses.ts";
import type { Committer } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { Db } from "../platform/db/open.ts";
import type { DnsClient } from "../protocols/dns/client.ts";
import { Listeners } from "../modules/events/listeners.ts";
import type { EventType } from "../modules/events/schema.ts";
import { createRecorder, type Recorder, type Subscribers } from "../modules/events/record.ts";
import type { Keyring } from "../platform/keyring/keyring.ts";
import { parseRanges } from "../platform/ip/address.ts";
import type { RateNotice } from "../modules/plans/sending-block.ts";
import type { PauseView } from "../platform/queue/delivery-pause.ts";
import { Worker } from "../platform/queue/worker.ts";
import { emitStoreEvents } from "./event-sources.ts";
import type { Stores } from "./stores.ts";
import { createCaller } from "../modules/webhooks/delivery/call.ts";
import { webhookHandler } from "../modules/webhooks/delivery/deliver.ts";
import { lookBy } from "../modules/webhooks/delivery/resolve-target.ts";
import { RETRY_MS } from "../modules/webhooks/delivery/outcome.ts";
import { JOBS_PER_WEBHOOK, MAX_CALLS, POOLS } from "../modules/webhooks/delivery/concurrency-limits.ts";
import { purgeEvents } from "../modules/webhooks/delivery/purge.ts";
import { createDeletedWebhookSweep } from "../modules/webhooks/delivery/deleted-webhook-sweep.ts";
import { openSecrets } from "../modules/webhooks/secrets.ts";
import { isSubscribed } from "../modules/webhooks/subscribed.ts";
import type { Look, TargetRules } from "../modules/webhooks/delivery/target.ts";

/** A stop waits for calls no longer than this: what is cut off is called again. */
const STOP_GRACE_MS = 5_000;

// The telling half of the composition root: facts, who wants them, and the worker that calls webhooks.

export interface WebhookDeliveryDeps {
  config: Config;
  environment: Environment;
  db: Db;
  stores: Stores;
  keyring: Keyring;
  committer: Committer;
  guard: DiskGuard;
  pause: PauseView;
  /** Of its own: receivers whose DNS is mute must not take the places of the mail's look-ups. */
  resolver: DnsClient;
}

export interface WebhookDelivery {
  recorder: Recorder;
  listeners: Listeners;
  subscribers: Subscribers;
  rules: TargetRules;
  look: Look;
  worker: Worker;
  /** A workspace's sending was blocked for its rates, or is half way to that. */
  tellOfRates(notice: RateNotice): void;
  /** Begins to call, and to forget what is too old. */
  start(): Promise<void>;
  /** With how many calls' outcomes could not be recorded. */
  stop(graceMs: number): Promise<number>;
}

export function createWebhookDelivery(deps: WebhookDeliveryDeps): WebhookDelivery {
  const { config, environment, db, stores, keyring, committer, guard, resolver } = deps;
  const { clock, random, log } = environment;
  const { commit } = committer;
  const { webhooks, webhookJobs: jobs, webhookDeliveries: deliveries, events } = stores;
  const rules = targetRules(config);
  const look = lookBy(resolver, clock);
  const listeners = new Listeners(clock);
  const subscribers = subscribersOf(stores, listeners, (webhookId, at) => worker.nudge(webhookId, at));
  const recorder = createRecorder(db, {
    events,
    random,
    workspaceUid: (id) => stores.workspaces.byId(id)?.uid ?? null,
    subscribers,
    recorded: (workspaceId) => listeners.wake(workspaceId),
  });
  const caller = createCaller({ clock });
  const handler = webhookHandler({
    webhooks,
    jobs,
    deliveries,
    secrets: openSecrets(keyring),
    record: recorder.record,
    look,
    rules,
    caller,
    clock,
    random,
    log,
    nudge: (webhookId, at) => worker.nudge(webhookId, at),
    userAgent: `pombo/${BUILD.version}`,
  });
  const worker: Worker = new Worker({
    queue: jobs.queue,
    handler,
    commit,
    guard,
    ...environment,
    scheduleMs: RETRY_MS,
    maxJobs: MAX_CALLS,
    maxJobsPerLane: JOBS_PER_WEBHOOK,
    gate: POOLS,
    pause: deps.pause,
  });
  emitStoreEvents(stores, recorder, clock);
  const upkeep = upkeepOf(deps, (webhookId) => worker.forgetLanes([webhookId]));
  return {
    recorder,
    listeners,
    subscribers,
    rules,
    look,
    worker,
    tellOfRates: (notice) => tellOfRates(notice, recorder),
    async start() {
      await worker.start();
      upkeep.start();
    },
    async stop(graceMs) {
      upkeep.stop();
      listeners.close();
      const unrecorded = await worker.stop(Math.min(graceMs, STOP_GRACE_MS));
      caller.close();
      return unrecorded;
    },
  };
}

/** Which addresses may be called: none of this machine's own, unless the operator allows it. */
function targetRules({ hostname, email, webhooks }: Config): TargetRules {
  const own = { addresses: ownAddresses(), names: [...new Set([hostname, email.bounceHost])] };
  return { allowHttp: webhooks.allowHttp, allowed: parseRanges(webhooks.allowPrivateRanges), own };
}

/** What is too old is forgotten, and what deleted webhooks leave is removed. */
function upkeepOf(
  { config, environment, stores, committer }: WebhookDeliveryDeps,
  removed: (webhookId: number) => void,
) {
  const { webhooks, webhookJobs: jobs, webhookDeliveries: deliveries, events } = stores;
  const common = { webhooks, deliveries, commit: committer.commit, clock: environment.clock, log: environment.log };
  const removal = createDeletedWebhookSweep({ ...common, jobs, removed });
  webhooks.followDeletions(() => removal.trigger());
  let stopPurge: (() => void) | null = null;
  return {
    start() {
      removal.start();
      stopPurge = purgeEvents({ ...common, events, keepMs: config.webhooks.retentionMs });
    },
    stop() {
      stopPurge?.();
      void removal.stop();
    },
  };
}

/** Who wants to be told: webhooks, and those who listen. */
function subscribersOf(
  { webhooks, webhookJobs }: Stores,
  listeners: Listeners,
  nudge: Subscribers["nudge"],
): Subscribers {
  const subscriptions = (workspaceId: number, type: EventType) => {
    const all = webhooks.subscriptionsOf(workspaceId);
    // Most workspaces have none, and each fact of each email asks.
    return all.length === 0 ? all : all.filter((each) => isSubscribed(each.events, type));
  };
  return {
    webhooksFor: (workspaceId, type) =>
      subscriptions(workspaceId, type)
        .filter(({ isEnabled }) => isEnabled)
        .map(({ id }) => id),
    isMissed: (workspaceId, type) => subscriptions(workspaceId, type).some(({ isEnabled }) => !isEnabled),
    isListening: (workspaceId) => listeners.isListening(workspaceId),
    enqueue: (webhookId, eventId, at) => webhookJobs.add({ webhookId, eventId, nextAt: at, again: "always" }),
    nudge,
  };
}

function tellOfRates({ kind, workspaceId, workspace, reason, at }: RateNotice, { record }: Recorder): void {
  const data = () => ({ workspaceId: workspace, reason });
  record({ workspaceId, type: `workspace.sending_${kind}`, resource: workspace, at, data });
}
