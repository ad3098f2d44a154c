// The operator's queries on webhook calls that wait, and on the events about a message.

import { and, asc, between, desc, eq, gt, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import { hasIdPrefix, prepareBatchEnd, lastId } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import { events, webhookDeliveries, webhookJobs, webhooks, workspaces } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { type MessageCandidate, walkById } from "../../../platform/queue/queue-admin.ts";
import { idTime } from "../../../platform/uuid.ts";

/** Calls of a webhook, or of all, that are counted at most. */
export const MAX_COUNTED = 100_000;
/** Events about one message, and calls about one event, that are shown. */
const MAX_EVENTS = 200;
const MAX_CALLS = 200;

/** Prepares the statements; nothing is written here. */
export function openWebhookAdminStore({ orm }: Db) {
  const p = sql.placeholder;
  const isOrAny = (name: string, holds: SQL | undefined) => sql`(${p(name)} IS NULL OR ${holds})`;
  const selectMatching = prepare(
    orm
      .select({ id: webhookJobs.id, isRunning: webhookJobs.inFlight })
      .from(webhookJobs)
      .leftJoin(webhooks, eq(webhooks.id, webhookJobs.webhookId))
      .leftJoin(events, eq(events.id, webhookJobs.eventId))
      .where(
        and(
          gt(webhookJobs.id, p("id")),
          lte(webhookJobs.id, p("end")),
          isOrAny("workspaceId", eq(webhooks.workspaceId, p("workspaceId"))),
          isOrAny("before", lt(events.createdAt, p("before"))),
        ),
      )
      .orderBy(asc(webhookJobs.id)),
  );
  const selectNext = prepare(
    orm
      .select({ id: webhookJobs.webhookId })
      .from(webhookJobs)
      .where(gt(webhookJobs.webhookId, p("id")))
      .orderBy(asc(webhookJobs.webhookId))
      .limit(1),
  );
  const selectWebhook = prepare(
    orm
      .select({ webhook: webhooks, workspaceUid: workspaces.uid })
      .from(webhooks)
      .leftJoin(workspaces, eq(workspaces.id, webhooks.workspaceId))
      .where(eq(webhooks.id, p("id"))),
  );
  /** How many rows a query has, up to the limit. */
  const countUpTo = (query: SQL) =>
    orm.values<[number]>(sql`SELECT COUNT(*) FROM (${query} LIMIT ${MAX_COUNTED})`)[0]?.[0] ?? 0;
  const idsOfWorkspace = (workspaceId: number) =>
    orm.select({ id: webhooks.id }).from(webhooks).where(eq(webhooks.workspaceId, workspaceId));

  return {
    list: walkById(prepareBatchEnd(orm, webhookJobs), (range) => selectMatching.all({ ...range })),
    lastId: () => lastId(orm, webhookJobs),

    /** The next webhook that has calls to make; null: there is none. */
    webhookAfter: (id: number): number | null => selectNext.get({ id })?.id ?? null,
    webhook: (id: number) => selectWebhook.get({ id }) ?? null,
    /** A webhook's calls that wait, up to the limit. */
    waitingFor: (webhookId: number): number =>
      countUpTo(sql`SELECT 1 FROM webhook_job WHERE webhook_id = ${webhookId} AND in_flight = 0`),
    /** All calls, up to the limit. */
    waiting: (): number => countUpTo(sql`SELECT 1 FROM webhook_job`),
    /** When the event of the oldest call happened; null: no call waits. */
    oldestAt: (): number | null =>
      orm
        .select({ at: events.createdAt })
        .from(webhookJobs)
        .innerJoin(events, eq(events.id, webhookJobs.eventId))
        .orderBy(asc(webhookJobs.id))
        .limit(1)
        .get()?.at ?? null,

    waitingCalls: (ids: number[]) =>
      orm
        .select({ job: webhookJobs, webhook: webhooks, event: events, workspaceUid: workspaces.uid })
        .from(webhookJobs)
        .innerJoin(webhooks, eq(webhooks.id, webhookJobs.webhookId))
        .innerJoin(events, eq(events.id, webhookJobs.eventId))
        .leftJoin(workspaces, eq(workspaces.id, webhooks.workspaceId))
        .where(inArray(webhookJobs.id, ids))
        .orderBy(asc(webhookJobs.id))
        .all(),
    /** The calls that wait about an event. */
    callsAbout: (event: { id: number; workspaceId: number }): { id: number; isRunning: boolean }[] =>
      orm
        .select({ id: webhookJobs.id, isRunning: webhookJobs.inFlight })
        .from(webhookJobs)
        // The index begins with the webhook.
        .where(
          and(inArray(webhookJobs.webhookId, idsOfWorkspace(event.workspaceId)), eq(webhookJobs.eventId, event.id)),
        )
        .all(),

    byIdPrefix: (prefix: string, limit: number): MessageCandidate[] =>
      orm
        .select()
        .from(events)
        .where(
          and(
            // An id begins with its time, and the index of times with the workspace.
            inArray(events.workspaceId, orm.select({ id: workspaces.id }).from(workspaces)),
            between(events.createdAt, getEdgeTime(prefix, "00000000-0000"), getEdgeTime(prefix, "ffffffff-ffff")),
            hasIdPrefix(events.uid, prefix),
          ),
        )
        .orderBy(desc(events.createdAt), desc(events.uid))
        .limit(limit)
        .all()
        .map(({ uid, workspaceId, type, resource, createdAt }) => {
          return { uid, workspaceId, from: "", to: resource, status: type, createdAt };
        }),
    /** The subject of the event of a delivery. */
    subjectOfDelivery: (uid: string): { type: string; resource: string } | undefined =>
      orm
        .select({ type: events.type, resource: events.resource })
        .from(webhookDeliveries)
        .innerJoin(events, eq(events.id, webhookDeliveries.eventId))
        .where(eq(webhookDeliveries.uid, uid))
        .get(),
    /** The events about a message, in the order in which they happened. */
    eventsAbout: (resource: string) =>
      orm.select().from(events).where(eq(events.resource, resource)).orderBy(asc(events.id)).limit(MAX_EVENTS).all(),
    listWebhooks: (workspaceId: number) =>
      orm
        .select({ id: webhooks.id, uid: webhooks.uid, url: webhooks.url })
        .from(webhooks)
        .where(eq(webhooks.workspaceId, workspaceId))
        .all(),
    callsMade: (webhookIds: number[], eventId: number) =>
      orm
        .select()
        .from(webhookDeliveries)
        .where(and(inArray(webhookDeliveries.webhookId, webhookIds), eq(webhookDeliveries.eventId, eventId)))
        .orderBy(asc(webhookDeliveries.id))
        .limit(MAX_CALLS)
        .all(),
    callsToMake: (webhookIds: number[], eventId: number) =>
      orm
        .select()
        .from(webhookJobs)
        .where(and(inArray(webhookJobs.webhookId, webhookIds), eq(webhookJobs.eventId, eventId)))
        .all(),
  };
}

/** The time of the first or last id that begins so, Unix ms. `edge`: the first digits of the first or last of all ids. */
function getEdgeTime(prefix: string, edge: string): number {
  return idTime(prefix + edge.slice(prefix.length));
}
