import type { ListPages } from "../../../platform/http/pagination.ts";
import { newId } from "../../../platform/uuid.ts";
import type { EventStore } from "../../events/store.ts";
import { AppError } from "../../../platform/errors.ts";
import { timeOf } from "../../../platform/http/times.ts";
import type { WebhookDeps } from "./change.ts";
import { showWebhook } from "./serialize.ts";
import type { WebhookRow } from "../store.ts";

// Deliveries by hand: a test, one event once more. (All that were missed: recover-missed.ts.)

export interface RedeliverDeps extends WebhookDeps {
  pages: ListPages;
  events: EventStore;
  workspaceUid: (workspaceId: number) => string | null;
  /** Told after the commit: events of this workspace were written. */
  recorded: (workspaceId: number) => void;
}

/** A webhook as its owner names it. */
export interface Place {
  workspaceId: number;
  uid: string;
}

/** Sends the event webhook.test to this webhook alone; its id, or null when there is no such webhook. */
export async function testWebhook(place: Place, deps: RedeliverDeps): Promise<string | null> {
  const queued = await deps.commit(() => {
    const webhook = deps.webhooks.byUid(place.workspaceId, place.uid);
    if (webhook === undefined) return null;
    requireEnabled(webhook);
    const now = deps.clock.now();
    const uid = newId(now, deps.random);
    const body = {
      type: "webhook.test",
      timestamp: timeOf(now),
      workspaceId: deps.workspaceUid(webhook.workspaceId),
      data: showWebhook(webhook),
    };
    const eventId = deps.events.insert({
      uid,
      workspaceId: webhook.workspaceId,
      type: body.type,
      resource: webhook.uid,
      body: JSON.stringify(body),
      createdAt: now,
    });
    deps.jobs.add({ webhookId: webhook.id, eventId, nextAt: now, again: "always" });
    return { uid, webhookId: webhook.id, at: now };
  });
  if (queued === null) return null;
  deps.subscribers.nudge(queued.webhookId, queued.at);
  deps.recorded(place.workspaceId);
  return queued.uid;
}

/** Delivers the event of one delivery once more; its id, or null when there is no such webhook or delivery. */
export async function replayDelivery(place: Place, deliveryUid: string, deps: RedeliverDeps): Promise<string | null> {
  const queued = await deps.commit(() => {
    const webhook = deps.webhooks.byUid(place.workspaceId, place.uid);
    const delivery = webhook === undefined ? undefined : deps.deliveries.byUid(webhook.id, deliveryUid);
    if (webhook === undefined || delivery === undefined) return null;
    requireEnabled(webhook);
    const event = deps.events.byId(delivery.eventId);
    if (event === undefined) return null;
    const now = deps.clock.now();
    deps.jobs.add({ webhookId: webhook.id, eventId: event.id, nextAt: now, again: "always" });
    return { uid: event.uid, webhookId: webhook.id, at: now };
  });
  if (queued !== null) deps.subscribers.nudge(queued.webhookId, queued.at);
  return queued?.uid ?? null;
}

/** Throws 422 for a webhook that is turned off. */
export function requireEnabled(webhook: WebhookRow): void {
  if (webhook.isEnabled) return;
  throw new AppError("VALIDATION_ERROR", "The webhook is disabled", {
    hint: `Enable it first: PATCH /api/v1/webhooks/${webhook.uid} with {"enabled": true}.`,
  });
}
