import type { EventType } from "../../events/schema.ts";
import { type RedeliverDeps, type Place, requireEnabled } from "./redeliver.ts";
import type { EventPlace } from "../delivery/delivery-store.ts";
import type { WebhookRow } from "../store.ts";
import { isSubscribed } from "../subscribed.ts";

// What a webhook has missed since a time, queued a share at a time: it may be a month of everything. Of one
// webhook one recovery runs at a time. What is asked for meanwhile waits for its end and is done in one
// go, from the earliest of the times: each caller's answer is that of a run that began after the asking.

/** Events looked at in one transaction. */
const SHARE = 500;

/** What waits for the recovery of a webhook that is running. */
interface Line {
  next: { since: number; queued: Promise<number | null>; start(): void } | null;
}

export type Recover = (place: Place, since: number) => Promise<number | null>;

/** Queues every event from `since` (Unix ms) on that a webhook wants and has never got; how many, or null: there is none. */
export function createRecover(deps: RedeliverDeps): Recover {
  const lines = new Map<number, Line>();

  const begin = (webhook: WebhookRow, since: number): Promise<number | null> => {
    const line: Line = { next: null };
    lines.set(webhook.id, line);
    return recover(webhook, since, deps).finally(() => {
      lines.delete(webhook.id);
      line.next?.start();
    });
  };

  return async ({ workspaceId, uid }, since) => {
    const webhook = deps.webhooks.byUid(workspaceId, uid);
    if (webhook === undefined) return null;
    requireEnabled(webhook);
    const line = lines.get(webhook.id);
    if (line === undefined) return begin(webhook, since);
    if (line.next === null) {
      const { promise, resolve } = Promise.withResolvers<number | null>();
      const next = { since, queued: promise, start: () => resolve(begin(webhook, next.since)) };
      line.next = next;
    }
    line.next.since = Math.min(line.next.since, since);
    return line.next.queued;
  };
}

async function recover({ id, workspaceId }: WebhookRow, since: number, deps: RedeliverDeps): Promise<number | null> {
  let queued = 0;
  // What happens from now on is queued by itself.
  const upTo = deps.events.lastOf(workspaceId);
  for (let after: EventPlace | null = { createdAt: since, id: 0 }; after !== null;) {
    const from = after;
    const share = await deps.commit(() => {
      // It may have been deleted, changed or turned off between two shares.
      const webhook = deps.webhooks.byId(id);
      if (webhook === undefined) return null;
      requireEnabled(webhook);
      const names = JSON.parse(webhook.events) as string[];
      const { missed, last } = deps.deliveries.missedBy(webhook, from, { upTo, limit: SHARE });
      const wanted = missed.filter(({ type }) => isSubscribed(names, type as EventType));
      const now = deps.clock.now();
      for (const event of wanted) deps.jobs.add({ webhookId: id, eventId: event.id, nextAt: now, again: "on_failure" });
      return { count: wanted.length, last, now };
    });
    if (share === null) return null;
    queued += share.count;
    after = share.last;
    if (share.count > 0) deps.subscribers.nudge(id, share.now);
  }
  return queued;
}
