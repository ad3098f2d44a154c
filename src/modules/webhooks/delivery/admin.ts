// The operator's side of the webhook calls: what waits by webhook and why; drop, retry, and the events about a message.

import type { Db } from "../../../platform/db/open.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import {
  type DropResult,
  type MessageCandidate,
  type QueueAdmin,
  yieldToEventLoop,
} from "../../../platform/queue/queue-admin.ts";
import type { Random } from "../../../platform/random.ts";
import { newId } from "../../../platform/uuid.ts";
import type { EventStore } from "../../events/store.ts";
import { showDelivery } from "../api/serialize.ts";
import type { WebhookStore } from "../store.ts";
import { MAX_COUNTED, openWebhookAdminStore } from "./admin-store.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookJobStore } from "./job-store.ts";

const MAX_SHOWN = 100;
/** Webhooks looked at between two turns of the event loop. */
const WEBHOOKS_PER_TURN = 50;

type Store = ReturnType<typeof openWebhookAdminStore>;

export interface WebhookAdminDeps {
  db: Db;
  webhooks: WebhookStore;
  jobs: WebhookJobStore;
  deliveries: DeliveryStore;
  events: Pick<EventStore, "byUid">;
  worker: { nudge(webhookId: number, dueAt: number): void };
  random: Random;
}

interface QueuedWebhook {
  id: string;
  workspaceId: string | null;
  url: string;
  waiting: number;
  isMinimum: boolean;
  nextAttemptAt: string | null;
  reason: string | null;
}

export interface WebhookQueueAdmin extends QueueAdmin<QueuedWebhook[], ReturnType<typeof traceEvents>> {
  /** The events about a message, with their calls; empty where no webhook wanted them. */
  trace(resource: string): ReturnType<typeof traceEvents>;
  /** The newest events whose id begins so. */
  findByIdPrefix(prefix: string, limit: number): MessageCandidate[];
  /** The subject of an event, or of a call about one, by its id; null: there is neither. */
  subject(uid: string): { type: string; resource: string } | null;
}

export function createWebhookQueueAdmin(deps: WebhookAdminDeps): WebhookQueueAdmin {
  const { jobs, worker } = deps;
  const store = openWebhookAdminStore(deps.db);
  return {
    overview: () => overview(store, jobs),
    depth() {
      const waiting = store.waiting();
      return { waiting, isMinimum: waiting >= MAX_COUNTED, oldestAt: toIsoTimeOrNull(store.oldestAt()) };
    },

    lastId: store.lastId,
    list: store.list,
    show: (ids) =>
      store.waitingCalls(ids).map(({ job, webhook, event, workspaceUid }) => ({
        id: event.uid,
        workspaceId: workspaceUid,
        to: webhook.url,
        queuedAt: toIsoTime(event.createdAt),
        state: job.inFlight ? "sending" : job.attempts > 0 ? "delivery_delayed" : "queued",
        attempts: job.attempts,
        nextAttemptAt: job.inFlight ? null : toIsoTime(job.nextAt),
        expiresAt: null,
        lastReply: job.attempts > 0 ? webhook.lastFailureReason : null,
      })),
    find(uid) {
      const event = deps.events.byUid(uid);
      return event === undefined ? null : store.callsAbout(event);
    },

    drop: (id, end) => dropCall(id, end, deps),
    retry(id, now) {
      const webhookId = jobs.retryNow(id, now);
      return webhookId === null ? null : () => worker.nudge(webhookId, now);
    },

    trace: (resource) => traceEvents(resource, store),
    findByIdPrefix: store.byIdPrefix,
    subject: (uid) => deps.events.byUid(uid) ?? store.subjectOfDelivery(uid) ?? null,
  };
}

async function overview(store: Store, jobs: WebhookJobStore): Promise<QueuedWebhook[]> {
  const shown: QueuedWebhook[] = [];
  let counted = 0;
  for (let id = store.webhookAfter(0); id !== null; id = store.webhookAfter(id)) {
    if (++counted % WEBHOOKS_PER_TURN === 0) await yieldToEventLoop();
    const found = store.webhook(id);
    if (found === null) continue;
    const { webhook, workspaceUid } = found;
    const waiting = store.waitingFor(id);
    shown.push({
      id: webhook.uid,
      workspaceId: workspaceUid,
      url: webhook.url,
      waiting,
      isMinimum: waiting >= MAX_COUNTED,
      nextAttemptAt: toIsoTimeOrNull(jobs.queue.findHead(id)?.dueAt ?? null),
      reason: webhook.failingSince === null ? null : webhook.lastFailureReason,
    });
  }
  return shown.toSorted((a, b) => b.waiting - a.waiting).slice(0, MAX_SHOWN);
}

/** The owner of the webhook sees why among its deliveries, and POST /webhooks/{id}/recover still gets the event. */
function dropCall(
  id: number,
  { reason, now }: { reason: string; now: number },
  { webhooks, jobs, deliveries, random }: WebhookAdminDeps,
): DropResult {
  const call = jobs.findCall(id);
  const attempts = jobs.removeWaiting(id);
  if (call === undefined) return attempts === null ? "gone" : "dropped";
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
    responseBody: null,
  });
  webhooks.uncount(webhook.id, -1);
  return "dropped";
}

function traceEvents(resource: string, store: Store) {
  const found = store.eventsAbout(resource);
  const [first] = found;
  const hooks = new Map(
    first === undefined ? [] : store.listWebhooks(first.workspaceId).map((hook) => [hook.id, hook]),
  );
  const ids = [...hooks.keys()];
  const webhook = (id: number) => ({ webhookId: hooks.get(id)?.uid ?? "", url: hooks.get(id)?.url ?? "" });
  return found.map((event) => ({
    id: event.uid,
    type: event.type,
    at: toIsoTime(event.createdAt),
    calls: store.callsMade(ids, event.id).map((row) => ({ ...showDelivery(row), ...webhook(row.webhookId) })),
    waiting: store.callsToMake(ids, event.id).map(({ webhookId, attempts, inFlight, nextAt }) => ({
      ...webhook(webhookId),
      attempts,
      nextAttemptAt: inFlight ? null : toIsoTime(nextAt),
    })),
  }));
}
