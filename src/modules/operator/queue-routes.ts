import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { operatorCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { CursorMeta } from "../../platform/http/pagination.ts";
import { requestBody } from "../../platform/http/body/validate.ts";
import { integerText } from "../../platform/http/request-schemas.ts";
import { DROPPED_AFTER_RESTORE } from "../../platform/queue/delivery-pause.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import {
  changeChosen,
  changeNamed,
  type Changed,
  type QueueActionDeps,
  sum,
  type QueueAction,
} from "./queue-actions.ts";
import { type QueueFilter, readChoice } from "./queue-filter.ts";
import { type ListDeps, listQueue } from "./queue-list.ts";
import { overviewOf, type OverviewDeps } from "./overview.ts";
import { QueueChanged, QueuedMessage, QueueDrop, QueueListQuery, QueueOverview, QueueRetry } from "./queue-schema.ts";

// The queues as the operator sees them, and takes messages out of them.

export const TAG = "Operator";
const CHANGE_ERRORS = [400, 401, 403, 404, 413, 415, 422, 503];
const DEFAULT_DESTINATIONS = 50;
const MAX_DESTINATIONS = 1_000;
const DEFAULT_MESSAGES = 20;

export type OperatorQueueDeps = QueueActionDeps &
  OverviewDeps &
  ListDeps & {
    workspaces: Pick<WorkspaceStore, "byUid">;
  };

const OverviewQuery = Type.Object({
  limit: Type.Optional(
    integerText({
      minimum: 1,
      maximum: MAX_DESTINATIONS,
      default: DEFAULT_DESTINATIONS,
      description: "How many destinations are shown.",
    }),
  ),
});

export function operatorQueueRoutes(deps: OperatorQueueDeps) {
  return new Elysia({ name: "operator queue", prefix: "/api/v1/operator/queue" })
    .use(lookRoutes(deps))
    .use(changeRoutes(deps));
}

function lookRoutes(deps: OperatorQueueDeps) {
  return new Elysia({ name: "operator queue looks" })
    .get(
      "",
      async ({ request, query }) => {
        operatorCaller(request);
        return { data: await overviewOf(Number(query.limit ?? DEFAULT_DESTINATIONS), deps) };
      },
      {
        query: OverviewQuery,
        detail: describe({
          id: "getQueue",
          tag: TAG,
          summary: "What waits, by destination, and why",
          description: "Texts by route, calls by webhook.",
          responses: answers(200, QueueOverview, [401, 403, 422]),
        }),
      },
    )
    .get(
      "/messages",
      async ({ request, query }) => {
        operatorCaller(request);
        const { kind, cursor = null, limit, ...given } = query;
        const meant = readChoice({ ...given, ...(kind === undefined ? {} : { kinds: [kind] }) }, deps);
        const page = await listQueue(meant, { cursor, limit: Number(limit ?? DEFAULT_MESSAGES) }, deps);
        return { data: page.rows, meta: { has_more: page.next !== null, next_cursor: page.next } };
      },
      {
        query: QueueListQuery,
        detail: describe({
          id: "listQueuedMessages",
          tag: TAG,
          summary: "List messages that wait, oldest first",
          description: "Emails, unless `kind` or `to` says texts or calls. The last page may be empty.",
          responses: answers(200, Type.Array(QueuedMessage), [401, 403, 404, 422], CursorMeta),
        }),
      },
    );
}

function changeRoutes(deps: OperatorQueueDeps) {
  return new Elysia({ name: "operator queue changes" })
    .post(
      "/retry",
      async ({ request, body }) => {
        operatorCaller(request);
        return { data: await change({ kind: "retry" }, body, deps) };
      },
      {
        body: requestBody(QueueRetry),
        parse: "json",
        detail: describe({
          id: "retryQueuedMessages",
          tag: TAG,
          summary: "Have messages tried now",
          description:
            "Those that wait for their next attempt. A blocked site, a hold and a pause still keep them. One call does a part; `next` says where to go on.",
          responses: answers(200, QueueChanged, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/drop",
      async ({ request, body }) => {
        operatorCaller(request);
        const { reason, dryRun = false } = body;
        const words = dropReason(reason, deps);
        return { data: await change(dryRun ? { kind: "count" } : { kind: "drop", reason: words }, body, deps) };
      },
      {
        body: requestBody(QueueDrop),
        parse: "json",
        detail: describe({
          id: "dropQueuedMessages",
          tag: TAG,
          summary: "Drop messages from the queue",
          description:
            "They become failed, with the events and refunds of any failure; a dropped call stands among its webhook's deliveries. What is being delivered at the moment is left alone and counted. One call does a part; `next` says where to go on.",
          responses: answers(200, QueueChanged, CHANGE_ERRORS),
        }),
      },
    );
}

/** Where delivery waits because of a restore and nothing else is said, that is why. */
function dropReason(given: string | undefined, { paused }: OperatorQueueDeps): string {
  if (given !== undefined) return `Dropped by the operator: ${given}`;
  return (paused()?.restorePoint ?? null) === null ? "Dropped by the operator" : DROPPED_AFTER_RESTORE;
}

async function change(
  verb: QueueAction,
  body: QueueFilter & { ids?: string[]; cursor?: string },
  deps: OperatorQueueDeps,
) {
  const { ids, cursor = null } = body;
  if (ids !== undefined) {
    const named = await changeNamed(verb, ids, deps);
    tell(verb, { ids: ids.length }, named, deps);
    return named;
  }
  const meant = readChoice(body, deps);
  const chosen = await changeChosen(verb, meant, cursor, deps);
  tell(verb, meant.words, chosen, deps);
  return { ...chosen, unknown: [], ended: [] };
}

/** Of each call that did something: a crash must not take with it that it was done. */
function tell(
  verb: QueueAction,
  words: Record<string, string | number>,
  { changed }: Changed,
  { log }: QueueActionDeps,
): void {
  if (verb.kind === "count" || sum(changed) === 0) return;
  const { email, sms, webhook } = changed;
  const why = verb.kind === "drop" ? { reason: verb.reason } : {};
  log.event(verb.kind === "drop" ? "queue.dropped" : "queue.retried", { ...words, email, sms, webhook, ...why });
}
