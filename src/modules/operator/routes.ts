import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import type { PageCheck } from "../../platform/db/file/page-check.ts";
import { operatorCaller } from "../../platform/http/auth.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { CursorMeta } from "../../platform/http/pagination.ts";
import { integerText, uuid } from "../../platform/http/request-schemas.ts";
import type { Log } from "../../platform/log.ts";
import { type DeliveryPause, DROPPED_AFTER_RESTORE } from "../../platform/queue/delivery-pause.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import {
  changeByIds,
  changeMatching,
  listQueue,
  type Changed,
  type QueueAction,
  type QueueActionDeps,
  sum,
} from "./queue-actions.ts";
import { type QueueFilter, resolveFilter } from "./queue-filter.ts";
import {
  DeliveryState,
  QueueChanged,
  QueueDrop,
  QueuedMessage,
  QueueListQuery,
  QueueOverview,
  QueuePause,
  QueueRetry,
} from "./queue-schema.ts";
import type { RecoveryKeyDeps } from "./recovery-key.ts";
import { buildStatus, showPause, type StatusDeps } from "./status.ts";
import { InstanceStatus } from "./status-schema.ts";
import { findEvents, findMessages, type TraceDeps, traceMessage } from "./trace.ts";
import { Trace, TraceCandidate, TraceQuery } from "./trace-schema.ts";
import { oneOf } from "../../platform/http/answer-schemas.ts";

const TAG = "Operator";
const CHANGE_ERRORS = [400, 401, 403, 404, 413, 415, 422, 503];
const DEFAULT_DESTINATIONS = 50;
const MAX_DESTINATIONS = 1_000;
const DEFAULT_MESSAGES = 20;
const NO_REASON = "The operator has paused it.";

export interface OperatorDeps extends StatusDeps, QueueActionDeps, TraceDeps, RecoveryKeyDeps {
  workspaces: WorkspaceStore;
  pause: Pick<DeliveryPause, "pause" | "hold" | "resume">;
  pages: Pick<PageCheck, "check">;
  log: Log;
}

const StatusQuery = Type.Object({
  check: Type.Optional(
    oneOf(
      ["true", "false"],
      "With true, pombo reads all pages of the database first and lists damaged ones in `issues`. This takes seconds per gigabyte.",
    ),
  ),
});

const OverviewQuery = Type.Object({
  limit: Type.Optional(
    integerText({
      minimum: 1,
      maximum: MAX_DESTINATIONS,
      default: DEFAULT_DESTINATIONS,
      description: "The number of destinations.",
    }),
  ),
});

/** The operator's routes about all queues: status, queue, pause and trace. */
export function operatorRoutes(deps: OperatorDeps) {
  const { queues, pause, log } = deps;
  return new Elysia({ name: "operator", prefix: "/api/v1/operator" })
    .get(
      "/status",
      async ({ request, query }) => {
        operatorCaller(request);
        if (query.check === "true") await deps.pages.check();
        return { data: buildStatus(deps) };
      },
      {
        query: StatusQuery,
        detail: describe({
          id: "getInstanceStatus",
          tag: TAG,
          summary: "Get the state of the instance",
          description: "`issues` lists what needs your attention.",
          responses: answers(200, InstanceStatus, [401, 403, 422, 503]),
        }),
      },
    )
    .get(
      "/queue",
      async ({ request, query }) => {
        operatorCaller(request);
        const limit = Number(query.limit ?? DEFAULT_DESTINATIONS);
        const emails = await queues.email.overview(limit);
        const sms = await queues.sms.overview(limit);
        const webhooks = await queues.webhook.overview(limit);
        return { data: { paused: showPause(pause.pause), ...emails, sms, webhooks } };
      },
      {
        query: OverviewQuery,
        detail: describe({
          id: "getQueue",
          tag: TAG,
          summary: "Get how much waits, by destination, and why",
          description: "SMS by route, webhook calls by webhook.",
          responses: answers(200, QueueOverview, [401, 403, 422]),
        }),
      },
    )
    .get(
      "/queue/messages",
      async ({ request, query }) => {
        operatorCaller(request);
        const { kind, cursor = null, limit, ...rest } = query;
        const filter = resolveFilter({ ...rest, ...(kind === undefined ? {} : { kinds: [kind] }) }, deps);
        const page = await listQueue(filter, { cursor, limit: Number(limit ?? DEFAULT_MESSAGES) }, queues);
        return { data: page.rows, meta: { has_more: page.next !== null, next_cursor: page.next } };
      },
      {
        query: QueueListQuery,
        detail: describe({
          id: "listQueuedMessages",
          tag: TAG,
          summary: "List waiting messages, oldest first",
          description: "Emails, or others with `kind` or `to`. The last page may be empty.",
          responses: answers(200, Type.Array(QueuedMessage), [401, 403, 404, 422], CursorMeta),
        }),
      },
    )
    .post(
      "/queue/retry",
      async ({ request, body }) => {
        operatorCaller(request);
        return { data: await change({ kind: "retry" }, body, deps) };
      },
      {
        ...jsonBody(QueueRetry),
        detail: describe({
          id: "retryQueuedMessages",
          tag: TAG,
          summary: "Retry messages now",
          description:
            "Messages that wait for their next attempt. A blocked site, a hold or a pause still delays them. One request does a part; `next` says where to go on.",
          responses: answers(200, QueueChanged, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/queue/drop",
      async ({ request, body }) => {
        operatorCaller(request);
        const { reason, dryRun = false } = body;
        const words = dropReason(reason, deps);
        return { data: await change(dryRun ? { kind: "count" } : { kind: "drop", reason: words }, body, deps) };
      },
      {
        ...jsonBody(QueueDrop),
        detail: describe({
          id: "dropQueuedMessages",
          tag: TAG,
          summary: "Drop messages from the queue",
          description:
            "Their status becomes failed, with the usual events and refunds; a dropped webhook call is listed among its webhook's deliveries. Messages that are being delivered are left alone and counted. One request does a part; `next` says where to go on.",
          responses: answers(200, QueueChanged, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/queue/pause",
      async ({ request, body }) => {
        operatorCaller(request);
        const { reason = NO_REASON } = body;
        await pause.hold(reason);
        log.event("delivery.paused", { reason }, "warn");
        return { data: { paused: showPause(pause.pause) } };
      },
      {
        ...jsonBody(QueuePause),
        detail: describe({
          id: "pauseDelivery",
          tag: TAG,
          summary: "Pause all delivery",
          description:
            "Emails, SMS and webhook calls, across restarts too. Running deliveries end; accepted messages wait, and expire on time.",
          responses: answers(200, DeliveryState, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .post(
      "/queue/resume",
      async ({ request }) => {
        operatorCaller(request);
        const before = pause.pause;
        await pause.resume();
        if (before !== null) log.event("delivery.resumed", { reason: before.reason });
        return { data: { paused: showPause(pause.pause) } };
      },
      {
        detail: describe({
          id: "resumeDelivery",
          tag: TAG,
          summary: "Resume delivery",
          description:
            "After a restore this sends the messages that were in the queue at the restore point. Some may have been delivered since: drop them first if they must not be sent twice.",
          responses: answers(200, DeliveryState, [400, 401, 403, 413, 415, 503]),
        }),
      },
    )
    .get(
      "/trace",
      async ({ request, query }) => {
        operatorCaller(request);
        const { find = null, events } = query;
        const found = await findMessages(find, deps);
        return { data: find === null || events !== "true" ? found : [...found, ...findEvents(find, deps)] };
      },
      {
        query: TraceQuery,
        detail: describe({
          id: "findMessages",
          tag: TAG,
          summary: "Find messages by the beginning of an id, or by recipient",
          description: "The newest 50; with `events`, then also the newest 50 events.",
          responses: answers(200, Type.Array(TraceCandidate), [401, 403, 422]),
        }),
      },
    )
    .get(
      "/trace/:id",
      ({ request, params }) => {
        operatorCaller(request);
        return { data: traceMessage(params.id, deps) };
      },
      {
        params: Type.Object({ id: uuid("The id of an email or SMS, or of an event or webhook delivery about one.") }),
        detail: describe({
          id: "traceMessage",
          tag: TAG,
          summary: "Get the history of a message",
          description:
            "Its record, every attempt with its reply, the suppressions of its recipient, and the events about it.",
          responses: answers(200, Trace, [401, 403, 404, 422]),
        }),
      },
    );
}

/** In a pause after a restore, and without another reason, the restore is the reason. */
function dropReason(given: string | undefined, { pause }: OperatorDeps): string {
  if (given !== undefined) return `Dropped by the operator: ${given}`;
  return (pause.pause?.restorePoint ?? null) === null ? "Dropped by the operator" : DROPPED_AFTER_RESTORE;
}

async function change(
  action: QueueAction,
  body: QueueFilter & { ids?: string[]; cursor?: string },
  deps: OperatorDeps,
) {
  const { ids, cursor = null } = body;
  if (ids !== undefined) {
    const changed = await changeByIds(action, ids, deps);
    logChange(action, { ids: ids.length }, changed, deps.log);
    return changed;
  }
  const filter = resolveFilter(body, deps);
  const changed = await changeMatching(action, filter, cursor, deps);
  logChange(action, filter.logged, changed, deps.log);
  return { ...changed, unknown: [], ended: [] };
}

/** Each request that did something is logged: a crash between two of them must not lose what the first did. */
function logChange(action: QueueAction, fields: Record<string, string | number>, { changed }: Changed, log: Log): void {
  if (action.kind === "count" || sum(changed) === 0) return;
  const { email, sms, webhook } = changed;
  const why = action.kind === "drop" ? { reason: action.reason } : {};
  log.event(action.kind === "drop" ? "queue.dropped" : "queue.retried", { ...fields, email, sms, webhook, ...why });
}
