// Webhooks and deliveries as the API shows them.

import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import type { DeliveryRow } from "../delivery/delivery-store.ts";
import type { Webhook, WebhookDelivery, WebhookDeliveryRecord } from "./schema.ts";
import type { WebhookRow } from "../store.ts";

/** A webhook as the API shows it; its secret is shown when it is made, and nowhere else. */
export function showWebhook(webhook: WebhookRow): typeof Webhook.static {
  return {
    id: webhook.uid,
    url: webhook.url,
    events: JSON.parse(webhook.events) as string[],
    createdAt: toIsoTime(webhook.createdAt),
    lastDeliveryAt: toIsoTimeOrNull(webhook.lastDeliveryAt),
    lastFailureAt: toIsoTimeOrNull(webhook.lastFailureAt),
    lastFailureReason: webhook.lastFailureReason,
    description: webhook.description,
    enabled: webhook.isEnabled,
    disabledReason: webhook.disabledReason,
  };
}

/** One HTTP attempt as the API shows it. */
export function showDelivery(row: DeliveryRow): typeof WebhookDelivery.static {
  return {
    id: row.uid,
    event: row.eventType,
    responseStatus: row.responseStatus,
    errorMessage: row.errorMessage,
    createdAt: toIsoTime(row.createdAt),
    deliveredAt: toIsoTimeOrNull(row.deliveredAt),
    failedAt: toIsoTimeOrNull(row.failedAt),
    attempt: row.attempt,
    eventId: row.eventUid,
    durationMs: row.durationMs,
    nextAttemptAt: toIsoTimeOrNull(row.nextAttemptAt),
  };
}

interface DeliveryFacts {
  row: DeliveryRow;
  /** The request's body; null: its event has expired. */
  payload: string | null;
  attempts: DeliveryRow[];
}

/** One attempt with what was said, for those who may see what messages say. */
export function showDeliveryRecord(
  { row, payload, attempts }: DeliveryFacts,
  mayRead: boolean,
): typeof WebhookDeliveryRecord.static {
  return {
    ...showDelivery(row),
    payload: mayRead ? payload : null,
    // An answer may repeat the event.
    responseBody: mayRead ? row.responseBody : null,
    attempts: attempts.map(showDelivery),
  };
}
