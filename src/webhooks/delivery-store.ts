import { and, desc, eq, gte, inArray, isNotNull, isNull, lt, lte, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { events, webhookDeliveries, webhookJobs } from "../db/schema.ts";
import { fast } from "../db/statement.ts";

export type DeliveryRow = typeof webhookDeliveries.$inferSelect;

/** Rows that one transaction of the clean-up removes. */
const PURGE_ROWS = 1_000;

export type DeliveryStore = ReturnType<typeof openDeliveryStore>;

/** Prepares the statements of the deliveries: one row an HTTP attempt. */
export function openDeliveryStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const insert = fast(
    orm
      .insert(webhookDeliveries)
      .values({
        uid: p("uid"),
        webhookId: p("webhookId"),
        eventId: p("eventId"),
        eventUid: p("eventUid"),
        eventType: p("eventType"),
        attempt: p("attempt"),
        responseStatus: p("responseStatus"),
        errorMessage: p("errorMessage"),
        createdAt: p("createdAt"),
        deliveredAt: p("deliveredAt"),
        failedAt: p("failedAt"),
        durationMs: p("durationMs"),
        nextAttemptAt: p("nextAttemptAt"),
      })
      .prepare(),
  );
  const selectPage = fast(
    orm
      .select({ id: webhookDeliveries.id })
      .from(webhookDeliveries)
      .where(eq(webhookDeliveries.webhookId, p("webhookId")))
      .orderBy(desc(webhookDeliveries.createdAt), desc(webhookDeliveries.id))
      .limit(p("limit"))
      .offset(p("offset"))
      .prepare(),
  );

  return {
    insert(row: Omit<DeliveryRow, "id">): void {
      insert.run({ ...row });
    },
    byUid: (webhookId: number, uid: string): DeliveryRow | undefined =>
      orm
        .select()
        .from(webhookDeliveries)
        .where(and(eq(webhookDeliveries.uid, uid), eq(webhookDeliveries.webhookId, webhookId)))
        .get(),
    /** A page of a webhook's deliveries, newest first; deep pages walk the index, not the rows. */
    list(webhookId: number, limit: number, offset: number): DeliveryRow[] {
      const ids = selectPage.all({ webhookId, limit, offset }).map(({ id }) => id);
      return orm
        .select()
        .from(webhookDeliveries)
        .where(inArray(webhookDeliveries.id, ids))
        .orderBy(desc(webhookDeliveries.createdAt), desc(webhookDeliveries.id))
        .all();
    },

    /**
     * A share of the events of a webhook's workspace from `since` on, after the event `after`, that it has never got and that do
     * not wait for it: whether it wants them is for the caller to say. Oldest first.
     */
    missedBy: (webhook: { id: number; workspaceId: number }, range: { since: number; after: number }, limit: number) =>
      orm
        .select({ id: events.id, type: events.type })
        .from(events)
        .leftJoin(
          webhookDeliveries,
          and(
            eq(webhookDeliveries.webhookId, webhook.id),
            eq(webhookDeliveries.eventId, events.id),
            isNotNull(webhookDeliveries.deliveredAt),
          ),
        )
        .leftJoin(webhookJobs, and(eq(webhookJobs.webhookId, webhook.id), eq(webhookJobs.eventId, events.id)))
        .where(
          and(
            eq(events.workspaceId, webhook.workspaceId),
            sql`${events.id} > ${range.after}`,
            gte(events.createdAt, range.since),
            isNull(webhookDeliveries.id),
            isNull(webhookJobs.id),
          ),
        )
        .orderBy(events.id)
        .limit(limit)
        .all(),

    /** Removes a share of what is older than `notBefore`; how many of each webhook, and whether there may be more. */
    purge(notBefore: number): { removed: Map<number, number>; hasMore: boolean } {
      const share = orm
        .select({ id: webhookDeliveries.id })
        .from(webhookDeliveries)
        .where(lt(webhookDeliveries.createdAt, notBefore))
        .orderBy(webhookDeliveries.createdAt)
        .limit(PURGE_ROWS);
      const gone = orm
        .delete(webhookDeliveries)
        .where(and(inArray(webhookDeliveries.id, share), lte(webhookDeliveries.createdAt, notBefore)))
        .returning({ webhookId: webhookDeliveries.webhookId })
        .all();
      const removed = new Map<number, number>();
      for (const { webhookId } of gone) removed.set(webhookId, (removed.get(webhookId) ?? 0) + 1);
      return { removed, hasMore: gone.length === PURGE_ROWS };
    },
  };
}
