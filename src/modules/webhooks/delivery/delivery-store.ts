// The deliveries of webhooks: a row for each HTTP attempt.

import { and, asc, count, desc, eq, gt, inArray, isNotNull, lt, lte, type SQL, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/sqlite-core";
import type { Db } from "../../../platform/db/open.ts";
import { events, webhookDeliveries, webhooks } from "../../../platform/db/schema/schema.ts";
import { PURGE_ROWS, removeBatch, newestFirst, prepareInsert } from "../../../platform/db/batches.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { DeliveryStatus } from "../api/schema.ts";
import { eraseAnswer } from "./outcome.ts";

export type DeliveryRow = typeof webhookDeliveries.$inferSelect;

/** An event's place in the order of time. */
export interface EventPlace {
  createdAt: number;
  id: number;
}

interface DeliveryPage {
  limit: number;
  offset: number;
  /** Null: both. */
  status: DeliveryStatus | null;
}

/** Two schedules' worth; each replay adds to an event's. */
const MAX_ATTEMPTS_SHOWN = 16;

interface MissedRange {
  /** The id of the last event that counts. */
  upTo: number;
  limit: number;
}

export type DeliveryStore = ReturnType<typeof openDeliveryStore>;

/** Prepares the statements. */
export function openDeliveryStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  // As the index has it.
  const isFailed = sql`(${webhookDeliveries.deliveredAt} IS NULL)`;
  const selectEnded = (hasFailed: SQL) =>
    orm
      .select({ id: webhookDeliveries.id, createdAt: webhookDeliveries.createdAt })
      .from(webhookDeliveries)
      .where(and(eq(webhookDeliveries.webhookId, p("webhookId")), sql`${isFailed} = ${hasFailed}`));
  const selectPage = prepare(
    unionAll(selectEnded(sql`0`), selectEnded(sql`1`))
      .orderBy(...newestFirst(webhookDeliveries))
      .limit(p("limit"))
      .offset(p("offset")),
  );
  const selectPageOfStatus = prepare(
    selectEnded(sql`${p("isFailed")}`)
      .orderBy(...newestFirst(webhookDeliveries))
      .limit(p("limit"))
      .offset(p("offset")),
  );
  const countOfStatus = prepare(
    orm.select({ count: count() }).from(
      selectEnded(sql`${p("isFailed")}`)
        .limit(p("limit"))
        .as("counted"),
    ),
  );
  const selectAttempts = prepare(
    orm
      .select()
      .from(webhookDeliveries)
      .where(and(eq(webhookDeliveries.webhookId, p("webhookId")), eq(webhookDeliveries.eventId, p("eventId"))))
      .orderBy(desc(webhookDeliveries.id))
      .limit(MAX_ATTEMPTS_SHOWN),
  );

  /** Whether the webhook got the event. */
  const selectGot = prepare(
    orm
      .select({ id: webhookDeliveries.id })
      .from(webhookDeliveries)
      .where(
        and(
          eq(webhookDeliveries.webhookId, p("webhookId")),
          eq(webhookDeliveries.eventId, p("eventId")),
          isNotNull(webhookDeliveries.deliveredAt),
        ),
      )
      .limit(1),
  );
  // In one statement SQLite would walk the whole of the place's millisecond each time.
  const selectEvents = (isAfter: SQL | undefined) =>
    prepare(
      orm
        .select({ id: events.id, type: events.type, createdAt: events.createdAt })
        .from(events)
        .where(and(eq(events.workspaceId, p("workspaceId")), isAfter, lte(events.id, p("upTo"))))
        .orderBy(asc(events.createdAt), asc(events.id))
        .limit(p("limit")),
    );
  // Few events share a millisecond: with this hint SQLite takes the index of times and not that of ids.
  const isAtTime = sql`likelihood(${eq(events.createdAt, p("createdAt"))}, 0.001)`;
  const selectAtTime = selectEvents(and(isAtTime, gt(events.id, p("id"))));
  const selectLater = selectEvents(gt(events.createdAt, p("createdAt")));

  /** The event of a webhook that was turned off says how its last call failed. */
  function eraseDisabledReason(webhookId: number, before: string, after: string | null): void {
    const webhook = orm.select({ uid: webhooks.uid }).from(webhooks).where(eq(webhooks.id, webhookId)).get();
    if (webhook === undefined) return;
    const reason = sql`json_extract(${events.body}, '$.data.lastFailureReason')`;
    orm
      .update(events)
      .set({ body: sql`json_set(${events.body}, '$.data.lastFailureReason', ${after})` })
      .where(and(eq(events.resource, webhook.uid), eq(events.type, "webhook.disabled"), eq(reason, before)))
      .run();
  }

  return {
    insert: prepareInsert(orm, webhookDeliveries),
    byUid: (webhookId: number, uid: string): DeliveryRow | undefined =>
      orm
        .select()
        .from(webhookDeliveries)
        .where(and(eq(webhookDeliveries.uid, uid), eq(webhookDeliveries.webhookId, webhookId)))
        .get(),
    /** A page of a webhook's deliveries, newest first; deep pages walk the index, not the rows. */
    list(webhookId: number, { limit, offset, status }: DeliveryPage): DeliveryRow[] {
      const page = { webhookId, limit, offset };
      const found =
        status === null
          ? selectPage.all(page)
          : selectPageOfStatus.all({ ...page, isFailed: Number(status === "failed") });
      const ids = found.map(({ id }) => id);
      return orm
        .select()
        .from(webhookDeliveries)
        .where(inArray(webhookDeliveries.id, ids))
        .orderBy(...newestFirst(webhookDeliveries))
        .all();
    },

    /** How many of a webhook's deliveries have the status, or `limit` if there are more. */
    countStatus: (webhookId: number, status: DeliveryStatus, limit: number): number =>
      countOfStatus.get({ webhookId, isFailed: Number(status === "failed"), limit })?.count ?? 0,

    /** The last deliveries of an event to a webhook, newest first. */
    listAttempts: (webhookId: number, eventId: number): DeliveryRow[] => selectAttempts.all({ webhookId, eventId }),

    /**
     * Inside a transaction: removes the text of the answers to these events, also where it stands as a webhook's last
     * failure. Returns the number of calls.
     */
    eraseAnswers(webhookIds: number[], eventIds: number[]): number {
      const { id, webhookId, eventId, responseStatus: status, errorMessage: message } = webhookDeliveries;
      const rows = orm
        .select({ id, webhookId, status, message, body: webhookDeliveries.responseBody })
        .from(webhookDeliveries)
        .where(and(inArray(webhookId, webhookIds), inArray(eventId, eventIds)))
        .all();
      for (const row of rows) {
        const errorMessage = eraseAnswer(row);
        if (errorMessage === row.message && row.body === null) continue;
        orm.update(webhookDeliveries).set({ errorMessage, responseBody: null }).where(eq(id, row.id)).run();
        if (errorMessage === row.message || row.message === null) continue;
        const isItsLast = and(eq(webhooks.id, row.webhookId), eq(webhooks.lastFailureReason, row.message));
        orm.update(webhooks).set({ lastFailureReason: errorMessage }).where(isItsLast).run();
        eraseDisabledReason(row.webhookId, row.message, errorMessage);
      }
      return rows.length;
    },

    /**
     * Looks at the next `limit` events of a webhook's workspace after the place `after`, in the order of their time and up to
     * the event `upTo`, and returns those that the webhook has never got, whether it wants them or not. `last` is the place of
     * the last one looked at; null: there are no more.
     */
    listMissed(webhook: { id: number; workspaceId: number }, after: EventPlace, { upTo, limit }: MissedRange) {
      const range = { workspaceId: webhook.workspaceId, ...after, upTo };
      const seen = selectAtTime.all({ ...range, limit });
      if (seen.length < limit) seen.push(...selectLater.all({ ...range, limit: limit - seen.length }));
      const missed = seen.filter(({ id }) => selectGot.get({ webhookId: webhook.id, eventId: id }) === undefined);
      return { missed, last: seen.length < limit ? null : (seen.at(-1) ?? null) };
    },

    /** Removes a batch of a webhook's deliveries; true when there may be more. */
    removeBatch: (webhookId: number, limit: number): boolean =>
      removeBatch(orm, webhookDeliveries, eq(webhookDeliveries.webhookId, webhookId), limit),

    /** Removes a batch of the deliveries older than `notBefore`; returns how many of each webhook, and whether there may be more. */
    purge(notBefore: number): { removed: Map<number, number>; hasMore: boolean } {
      const batch = orm
        .select({ id: webhookDeliveries.id })
        .from(webhookDeliveries)
        .where(lt(webhookDeliveries.createdAt, notBefore))
        .orderBy(webhookDeliveries.createdAt)
        .limit(PURGE_ROWS);
      const gone = orm
        .delete(webhookDeliveries)
        .where(and(inArray(webhookDeliveries.id, batch), lte(webhookDeliveries.createdAt, notBefore)))
        .returning({ webhookId: webhookDeliveries.webhookId })
        .all();
      const removed = new Map<number, number>();
      for (const { webhookId } of gone) removed.set(webhookId, (removed.get(webhookId) ?? 0) + 1);
      return { removed, hasMore: gone.length === PURGE_ROWS };
    },
  };
}
