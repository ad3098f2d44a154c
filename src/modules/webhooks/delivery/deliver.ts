// One call of one event to one webhook: waits for an earlier event of the same resource that is being delivered, finds and
// checks the receiver's address, signs, posts and classifies the answer. The worker records the delivery and the webhook's
// health in one transaction with the queue row.

import { BUILD } from "../../../platform/build-info.ts";
import type { Context } from "../../../platform/context.ts";
import type { AttemptContext, JobHandler, JobResult } from "../../../platform/queue/handler.ts";
import type { Job } from "../../../platform/queue/job.ts";
import { newId } from "../../../platform/uuid.ts";
import type { RecordEvent } from "../../events/record.ts";
import type { EventRow, EventStore } from "../../events/store.ts";
import { showWebhook } from "../api/serialize.ts";
import type { Secrets } from "../secrets.ts";
import { buildSignatureHeaders } from "../sign.ts";
import type { WebhookRow, WebhookStore } from "../store.ts";
import { brokenCall, type Caller, type CallResult } from "./call.ts";
import type { ConcurrencyLimiter } from "./concurrency-limiter.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookJobStore } from "./job-store.ts";
import { classify, computeHealth, eraseAnswer, type Outcome } from "./outcome.ts";
import { type LookUpAddresses, parseTarget, resolveTarget, type TargetRules } from "./target.ts";

export interface DeliverDeps extends Pick<Context, "clock" | "random" | "log"> {
  webhooks: WebhookStore;
  jobs: WebhookJobStore;
  deliveries: DeliveryStore;
  events: Pick<EventStore, "byId">;
  secrets: Secrets;
  record: RecordEvent;
  look: LookUpAddresses;
  rules: TargetRules;
  caller: Caller;
  limiter: ConcurrencyLimiter;
  /** After the commit: the webhook has something to deliver. */
  nudge: (webhookId: number, at: number) => void;
}

interface Call {
  webhook: WebhookRow;
  event: EventRow;
}

/** A call that was made. */
interface CompletedCall extends Call {
  startedAt: number;
  endedAt: number;
  outcome: Outcome;
}

/** A receiver that takes longer shares the pool of those that do not answer. */
const SLOW_MS = 5_000;
const USER_AGENT = `pombo/${BUILD.version}`;
const NOT_BEGUN: JobResult<null> = { action: { kind: "release" }, isReached: null };

/** Delivers what the worker claims from the webhooks' queue. */
export function createWebhookHandler(deps: DeliverDeps): JobHandler<null> {
  const { jobs, limiter } = deps;
  /** By webhook and resource: the end of the call that was last begun. */
  const underWay = new Map<string, Promise<void>>();
  return {
    async attempt(job, context) {
      const found = jobs.findCall(job.id);
      if (found === undefined) limiter.forget(job.laneId);
      if (found === undefined || !found.webhook.isEnabled) return skip(job, deps);
      const { webhook, event } = found;
      const place = `${webhook.id} ${event.resource}`;
      const before = underWay.get(place);
      const { promise, resolve } = Promise.withResolvers<void>();
      underWay.set(place, promise);
      const wasSlow = limiter.isSlow(webhook.id);
      // A receiver may have become slow while this waited: then it waits in the queue, and takes no place.
      const mustRelease = () => context.stopping.aborted || (limiter.isSlow(webhook.id) && !wasSlow);
      let end: (() => void) | null = null;
      try {
        await before;
        if (mustRelease()) return NOT_BEGUN;
        end = await limiter.begin(webhook.id);
        if (mustRelease()) return NOT_BEGUN;
        // It may have been changed, turned off or deleted while this waited.
        const fresh = jobs.findCall(job.id);
        if (fresh === undefined || !fresh.webhook.isEnabled) return skip(job, deps);
        return await deliver(job, fresh, context, deps);
      } finally {
        end?.();
        resolve();
        if (underWay.get(place) === promise) underWay.delete(place);
      }
    },
  };
}

/** The webhook was deleted or turned off: the event is not delivered any more. */
function skip(job: Job, deps: DeliverDeps): JobResult<null> {
  return endCall(job, { action: { kind: "complete" }, isReached: null }, { isDelivered: false }, deps);
}

/** Another call may have been requested, and promised, while this one was under way: it follows. */
function endCall(
  job: Job,
  result: Pick<JobResult<null>, "action" | "isReached">,
  ended: { isDelivered: boolean; record?: (nextAt: number | null) => void; committed?: () => void },
  { jobs, nudge }: DeliverDeps,
): JobResult<null> {
  let nextAt: number | null = null;
  return {
    ...result,
    record(ownsRow) {
      nextAt = ownsRow ? jobs.endCall(job.id, ended.isDelivered) : null;
      ended.record?.(nextAt);
    },
    committed() {
      if (nextAt !== null) nudge(job.laneId, nextAt);
      ended.committed?.();
    },
  };
}

async function deliver(job: Job, call: Call, context: AttemptContext, deps: DeliverDeps): Promise<JobResult<null>> {
  const { clock, limiter } = deps;
  const startedAt = clock.now();
  const result = await callReceiver(job, call, context, deps);
  // Cut off by a stop: it counts as not made, and is made again.
  if (context.cutOff.aborted && result.kind === "broken") return NOT_BEGUN;
  const endedAt = clock.now();
  const isSlow = (result.kind === "broken" && result.isTimeout) || endedAt - startedAt > SLOW_MS;
  context.locate(limiter.recordCall(call.webhook.id, isSlow));
  const outcome = classify(result, job.attempt, endedAt);
  const { isLast, isDelivered, retryAt } = outcome;
  const made: CompletedCall = { ...call, startedAt, endedAt, outcome };
  return endCall(
    job,
    {
      action: isLast ? { kind: "complete" } : { kind: "retry", at: retryAt, state: null },
      isReached: result.kind === "answer",
    },
    {
      isDelivered,
      record: (nextAt) => recordCall(job, made, nextAt === null ? null : Math.max(nextAt, endedAt), deps),
      committed: () => logFailure(made, deps),
    },
    deps,
  );
}

async function callReceiver(
  job: Job,
  { webhook, event }: Call,
  { cutOff }: AttemptContext,
  { rules, look, clock, secrets, caller }: DeliverDeps,
): Promise<CallResult> {
  const parsed = parseTarget(webhook.url, rules);
  if (parsed.kind === "fault") return brokenCall(`The URL ${parsed.message}`);
  const { target } = parsed;
  const reached = await resolveTarget(target, rules, look);
  if (reached.kind === "trouble") return { ...reached, kind: "broken" };
  if (reached.kind === "refused") return brokenCall(reached.reason);
  // Another one the next time, where there are several.
  const address = reached.addresses[(job.attempt - 1) % reached.addresses.length] ?? "";
  const now = clock.now();
  const { body } = event;
  let valid: Uint8Array[];
  try {
    valid = secrets.open(webhook, now);
  } catch (error) {
    return brokenCall(error instanceof Error ? error.message : String(error));
  }
  const signed = buildSignatureHeaders({ id: event.uid, timestampS: Math.floor(now / 1_000), body }, valid);
  return await caller.call({ target, address, headers: { ...signed, "user-agent": USER_AGENT }, body }, cutOff);
}

/** Inside the transaction, whether the row is still this attempt's or not: the call was made. */
function recordCall(job: Job, made: CompletedCall, nextAttemptAt: number | null, deps: DeliverDeps): void {
  const { event, startedAt, endedAt } = made;
  const outcome = withoutErased(made, deps);
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
    responseBody: outcome.body,
  });
  // The answer of another URL says nothing about the one that is called now.
  const isSameUrl = webhook.url === made.webhook.url;
  const health = isSameUrl ? computeHealth(webhook, outcome, endedAt) : webhook;
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

/** An event changes only where its recipient is erased: the answer may repeat what it said before. */
function withoutErased({ event, outcome }: CompletedCall, { events }: DeliverDeps): Outcome {
  const isErased = (events.byId(event.id)?.body ?? event.body) !== event.body;
  return isErased ? { ...outcome, message: eraseAnswer(outcome), body: null } : outcome;
}

function logFailure({ webhook, event, outcome }: CompletedCall, { log }: DeliverDeps): void {
  if (outcome.isDelivered) return;
  log.event("webhook.failed", {
    id: webhook.uid,
    event: event.type,
    // Without the answer's text: a receiver may give the body back.
    detail: outcome.status === null ? outcome.message : `answered ${outcome.status}`,
  });
}
