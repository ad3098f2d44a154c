// Recovery: queues the events that a webhook has missed since a time, in batches, as it may be a month of everything. A
// webhook has one recovery at a time. Requests that come meanwhile wait for its end and are done in one go, from the
// earliest of their times: each caller's answer is that of a run that began after the request.

import type { EventType } from "../../events/schema.ts";
import { findWebhook, noSuchWebhook, type Place, requireEnabled, type WebhookDeps } from "./manage.ts";
import type { EventPlace } from "../delivery/delivery-store.ts";
import { isSubscribed, type WebhookRow } from "../store.ts";

/** Events looked at in one transaction. */
const BATCH = 500;

/** The requests that wait for the running recovery of a webhook. */
interface Line {
  next: { since: number; queued: Promise<number>; start(): void } | null;
}

export type Recover = (place: Place, since: number) => Promise<number>;

/** Queues every event from `since` (Unix ms) on that a webhook wants and has never got; how many. Throws 404. */
export function createRecover(deps: WebhookDeps): Recover {
  const lines = new Map<number, Line>();

  const begin = (webhook: WebhookRow, since: number): Promise<number> => {
    const line: Line = { next: null };
    lines.set(webhook.id, line);
    return recover(webhook, since, deps).finally(() => {
      lines.delete(webhook.id);
      line.next?.start();
    });
  };

  return async (place, since) => {
    const webhook = findWebhook(place, deps);
    requireEnabled(webhook);
    const line = lines.get(webhook.id);
    if (line === undefined) return begin(webhook, since);
    if (line.next === null) {
      const { promise, resolve } = Promise.withResolvers<number>();
      const next = { since, queued: promise, start: () => resolve(begin(webhook, next.since)) };
      line.next = next;
    }
    line.next.since = Math.min(line.next.since, since);
    return line.next.queued;
  };
}

async function recover({ id, workspaceId }: WebhookRow, since: number, deps: WebhookDeps): Promise<number> {
  let queued = 0;
  // Later events are queued by themselves.
  const upTo = deps.events.getLastId(workspaceId);
  for (let after: EventPlace | null = { createdAt: since, id: 0 }; after !== null;) {
    const from = after;
    const batch = await deps.commit(() => {
      // It may have been deleted, changed or turned off between two batches.
      const webhook = deps.webhooks.byId(id);
      if (webhook === undefined) throw noSuchWebhook();
      requireEnabled(webhook);
      const names = JSON.parse(webhook.events) as string[];
      const { missed, last } = deps.deliveries.listMissed(webhook, from, { upTo, limit: BATCH });
      const wanted = missed.filter(({ type }) => isSubscribed(names, type as EventType));
      const now = deps.clock.now();
      for (const event of wanted) deps.jobs.add({ webhookId: id, eventId: event.id, nextAt: now, again: "on_failure" });
      return { count: wanted.length, last, now };
    });
    queued += batch.count;
    after = batch.last;
    if (batch.count > 0) deps.nudge(id, batch.now);
  }
  return queued;
}
