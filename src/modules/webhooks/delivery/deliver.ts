import type { Clock } from "../../../platform/clock.ts";
import type { RecordEvent } from "../../events/record.ts";
import type { EventRow } from "../../events/store.ts";
import { newId } from "../../../platform/uuid.ts";
import type { Log } from "../../../platform/log.ts";
import type { Job } from "../../../platform/queue/job.ts";
import type { AttemptContext, JobHandler, JobResult } from "../../../platform/queue/worker.ts";
import type { Random } from "../../../platform/random.ts";
import type { Caller, CallResult } from "./call.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookJobStore } from "./job-store.ts";
import { healthAfter, classify, type Outcome } from "./outcome.ts";
import { poolOf, ConcurrencyLimiter } from "./concurrency-limits.ts";
import type { Secrets } from "../secrets.ts";
import { showWebhook } from "../api/serialize.ts";
import { signatureHeaders } from "../sign.ts";
import type { WebhookRow, WebhookStore } from "../store.ts";
import { type Look, parseTarget, reach, type TargetRules } from "./target.ts";

// One call of one event to one webhook: wait for an earlier event of the same resource that is being
// delivered, find and judge the receiver's address, sign, post, judge the answer. The worker writes the
// delivery's row and the webhook's health together with the queue row's fate.

export interface DeliverDeps {
  webhooks: WebhookStore;
  jobs: WebhookJobStore;
  deliveries: DeliveryStore;
  secrets: Secrets;
  record: RecordEvent;
  look: Look;
  rules: TargetRules;
  clock: Clock;
  random: Random;
  log: Log;
  caller: Caller;
  userAgent: string;
  /** Told after the commit: the webhook has something to deliver. */
  nudge: (webhookId: number, at: number) => void;
}

/** What became of a job, for the worker to write. */
interface Ended {
  fate: JobResult["action"];
  isReached: boolean | null;
  isDelivered: boolean;
  /** Inside the transaction; `nextAt`: when the next call of this event is due, null: never. */
  record(nextAt: number | null): void;
  committed(): void;
}

/** A call that was made. */
interface Made {
  webhook: WebhookRow;
  event: EventRow;
  startedAt: number;
  endedAt: number;
  outcome: Outcome;
}

/** A receiver that takes longer shares the pool of those that do not answer. */
const SLOW_MS = 5_000;

const NOTHING_TO_DO: Ended = {
  fate: { kind: "finish" },
  isReached: null,
  isDelivered: false,
  record: () => undefined,
  committed: () => undefined,
};
const NOT_BEGUN: JobResult = { action: { kind: "give_back" }, isReached: null, record: () => undefined };

/** Delivers what the worker takes off the webhooks' queue. */
export function webhookHandler(deps: DeliverDeps): JobHandler {
  /** By webhook and resource: the end of the call that was last begun. */
  const underWay = new Map<string, Promise<void>>();
  const turns = new ConcurrencyLimiter();
  /** Those whose last call timed out: who waits for a turn there goes back into the queue. */
  const slow = new Set<number>();

  return {
    async attempt(job, context) {
      const found = deps.jobs.callOf(job.id);
      if (found === undefined) slow.delete(job.laneId);
      // Deleted, or turned off since: nothing is to be called any more.
      if (found === undefined || !found.webhook.isEnabled) return settle(job, NOTHING_TO_DO, deps);
      const { webhook, event } = found;
      const place = `${webhook.id} ${event.resource}`;
      const before = underWay.get(place);
      const { promise, resolve } = Promise.withResolvers<void>();
      underWay.set(place, promise);
      let endTurn: (() => void) | null = null;
      const wasSlow = slow.has(webhook.id);
      const isNotNow = () => context.stopping.aborted || (slow.has(webhook.id) && !wasSlow);
      try {
        await before;
        if (isNotNow()) return NOT_BEGUN;
        endTurn = await turns.take(webhook.id);
        if (isNotNow()) return NOT_BEGUN;
        // It may have been changed, turned off or deleted while this waited.
        const fresh = deps.jobs.callOf(job.id);
        if (fresh === undefined || !fresh.webhook.isEnabled) return settle(job, NOTHING_TO_DO, deps);
        return await deliver(job, fresh, { context, parts: deps, slow });
      } finally {
        endTurn?.();
        resolve();
        if (underWay.get(place) === promise) underWay.delete(place);
      }
    },
    // A call that a crash cut off is made again; nothing was written of it.
    recordUncertain: () => undefined,
  };
}

/** Another call may have been asked for, and promised, while this one was under way: its lane is told. */
function settle(job: Job, ended: Ended, deps: DeliverDeps): JobResult {
  let nextAt: number | null = null;
  return {
    action: ended.fate,
    isReached: ended.isReached,
    record(ownsRow) {
      nextAt = ownsRow ? deps.jobs.callEnded(job.id, ended.isDelivered) : null;
      ended.record(nextAt);
    },
    committed() {
      if (nextAt !== null) deps.nudge(job.laneId, nextAt);
      ended.committed();
    },
  };
}

async function deliver(
  job: Job,
  { webhook, event }: { webhook: WebhookRow; event: EventRow },
  { context, parts, slow }: { context: AttemptContext; parts: DeliverDeps; slow: Set<number> },
): Promise<JobResult> {
  const startedAt = parts.clock.now();
  const result = await callReceiver(job, { webhook, event }, { context, parts });
  // Stopped in the middle: it counts as not made, and is made again.
  if (context.cutOff.aborted && result.kind === "broken") return NOT_BEGUN;
  const endedAt = parts.clock.now();
  const isSlow = (result.kind === "broken" && result.isTimeout) || endedAt - startedAt > SLOW_MS;
  context.locate(poolOf(webhook.id, isSlow));
  if (isSlow) slow.add(webhook.id);
  else slow.delete(webhook.id);
  const made: Made = { webhook, event, startedAt, endedAt, outcome: classify(result, job.attempt, endedAt) };
  const { outcome } = made;
  const ended: Ended = {
    fate: outcome.isLast
      ? { kind: "finish" }
      : { kind: "defer", at: outcome.retryAt, lastReply: null, badDomainAt: null },
    isReached: result.kind === "answer",
    isDelivered: outcome.isDelivered,
    record: (nextAt) => record(job, made, nextAt === null ? null : Math.max(nextAt, endedAt), parts),
    committed: () => tell(made, parts),
  };
  return settle(job, ended, parts);
}

async function callReceiver(
  job: Job,
  { webhook, event }: { webhook: WebhookRow; event: EventRow },
  { context, parts }: { context: AttemptContext; parts: DeliverDeps },
): Promise<CallResult> {
  const parsed = parseTarget(webhook.url, parts.rules);
  if (parsed.kind === "fault") return broken(`The URL ${parsed.message}`);
  const { target } = parsed;
  const reached = await reach(target, parts.rules, parts.look);
  if (reached.kind === "trouble") return { ...reached, kind: "broken" };
  if (reached.kind === "refused") return broken(reached.reason);
  // Another one the next time, where there are several.
  const address = reached.addresses[(job.attempt - 1) % reached.addresses.length] ?? "";
  const now = parts.clock.now();
  const signed = { id: event.uid, timestampS: Math.floor(now / 1_000), body: event.body };
  let secrets: Uint8Array[];
  try {
    secrets = parts.secrets.of(webhook, now);
  } catch (error) {
    return broken(error instanceof Error ? error.message : String(error));
  }
  const headers = { ...signatureHeaders(signed, secrets), "user-agent": parts.userAgent };
  return await parts.caller.call({ target, address, headers, body: event.body }, context.cutOff);
}

function broken(reason: string): CallResult {
  return { kind: "broken", reason, isTimeout: false };
}

/** Inside the transaction, whoever holds the row: the call was made. */
function record(job: Job, made: Made, nextAttemptAt: number | null, deps: DeliverDeps): void {
  const { event, startedAt, endedAt, outcome } = made;
  // Others of its calls may have ended meanwhile.
  const webhook = deps.webhooks.byId(made.webhook.id);
  if (webhook === undefined) return;
  deps.deliveries.insert({
    uid: newId(startedAt, deps.random),
    webhookId: webhook.id,
    eventId: event.id,
    eventUid: event.uid,
    eventType: event.type,
    attempt: job.attempt,
    responseStatus: outcome.status,
    errorMessage: outcome.message,
    createdAt: startedAt,
    deliveredAt: outcome.isDelivered ? endedAt : null,
    failedAt: outcome.isDelivered ? null : endedAt,
    durationMs: Math.max(0, endedAt - startedAt),
    nextAttemptAt,
  });
  // What another URL answered says nothing of the one that is called now.
  const isSameUrl = webhook.url === made.webhook.url;
  const health = isSameUrl ? healthAfter(webhook, outcome, endedAt) : webhook;
  deps.webhooks.setHealth(webhook, health);
  if (!webhook.isEnabled || health.isEnabled) return;
  deps.record({
    workspaceId: webhook.workspaceId,
    type: "webhook.disabled",
    resource: webhook.uid,
    at: endedAt,
    data: () => showWebhook({ ...webhook, ...health }),
  });
}

function tell({ webhook, event, outcome }: Made, deps: DeliverDeps): void {
  if (outcome.isDelivered) return;
  deps.log.event("webhook.failed", {
    id: webhook.uid,
    event: event.type,
    // Not its words: a receiver may give the body back.
    detail: outcome.status === null ? outcome.message : `answered ${outcome.status}`,
  });
}
