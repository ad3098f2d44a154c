// Drops a waiting call, for the operator.

import { newId } from "../../../platform/uuid.ts";
import type { Random } from "../../../platform/random.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookJobStore } from "./job-store.ts";
import type { WebhookStore } from "../store.ts";

export interface DropDeps {
  webhooks: WebhookStore;
  jobs: WebhookJobStore;
  deliveries: DeliveryStore;
  random: Random;
}

/**
 * Inside a transaction: a call that waits is not made any more. Its receiver's owner sees why among the deliveries,
 * and gets the event after all by POST /webhooks/{id}/recover.
 */
export function dropCall(
  jobId: number,
  { reason, now }: { reason: string; now: number },
  deps: DropDeps,
): "dropped" | "running" | "gone" {
  const { webhooks, jobs, deliveries, random } = deps;
  const call = jobs.findCall(jobId);
  if (call === undefined) return jobs.removeWaiting(jobId) === null ? "gone" : "dropped";
  const attempts = jobs.removeWaiting(jobId);
  if (attempts === null) return "running";
  const { webhook, event } = call;
  deliveries.insert({
    uid: newId(now, random),
    webhookId: webhook.id,
    eventId: event.id,
    eventUid: event.uid,
    eventType: event.type,
    attempt: attempts + 1,
    responseStatus: null,
    errorMessage: reason,
    createdAt: now,
    deliveredAt: null,
    failedAt: now,
    durationMs: 0,
    nextAttemptAt: null,
  });
  webhooks.uncount(webhook.id, -1);
  return "dropped";
}
