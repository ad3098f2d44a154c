import { and, asc, eq, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import type { TransactionalCache } from "../../../platform/db/transactional-cache.ts";
import { smsMessages, smsSegments } from "../../../platform/db/schema/sms.ts";
import { fast } from "../../../platform/db/statement.ts";

// How the segments are read. segment-store.ts is the one that changes them.

export type SegmentRow = typeof smsSegments.$inferSelect;
export type SegmentState = SegmentRow["state"];
export type Priority = SegmentRow["priority"];

/** Work that waits: of one workspace, on one route, in one priority; `nextAt` of its first segment. */
export interface ReadyWork {
  route: string;
  priority: Priority;
  workspaceId: number;
  nextAt: number;
}

/** A segment with the number it goes to. */
export interface FoundSegment {
  segment: SegmentRow;
  message: { recipient: string };
}

/** What no statement binds: SQLite uses a partial index only where the query says its condition in the same words. */
export const IS_READY = sql.raw("state = 'ready'");
export const IS_OPEN = sql.raw("state IN ('in_flight', 'unknown')");

const p = sql.placeholder;

/** Longer texts are read at each step: as many of them as are remembered of others would take hundreds of megabytes. */
const MAX_PARTS = 4;

/** The segments of messages, in their order. */
export type RememberedSegments = TransactionalCache<number, SegmentRow[]>;

/** Prepares the statements that read. */
export function openSegmentReads(orm: Db["orm"], remembered: RememberedSegments) {
  const selectOf = fast(
    orm
      .select()
      .from(smsSegments)
      .where(eq(smsSegments.messageId, p("messageId")))
      .orderBy(asc(smsSegments.seq)),
  );
  const selectUnknown = fast(
    orm
      .select()
      .from(smsSegments)
      .where(and(IS_OPEN, sql`state = 'unknown'`, sql`next_at <= ${p("now")}`))
      .orderBy(asc(smsSegments.nextAt))
      .limit(p("limit")),
  );
  const selectNext = fast(
    orm
      .select({ nextAt: smsSegments.nextAt })
      .from(smsSegments)
      .where(
        and(
          IS_READY,
          eq(smsSegments.route, p("route")),
          eq(smsSegments.priority, p("priority")),
          eq(smsSegments.workspaceId, p("workspaceId")),
        ),
      )
      .orderBy(asc(smsSegments.nextAt))
      .limit(1),
  );
  const byId = (column: typeof smsSegments.smscIdKey | typeof smsSegments.smscIdKey2) =>
    fast(
      orm
        .select({ messageId: smsSegments.messageId, seq: smsSegments.seq, recipient: smsMessages.recipient })
        .from(smsSegments)
        .innerJoin(smsMessages, eq(smsMessages.id, smsSegments.messageId))
        .where(and(eq(smsSegments.route, p("route")), eq(column, p("key")))),
    );
  const selectById = byId(smsSegments.smscIdKey);
  const selectBySecondId = byId(smsSegments.smscIdKey2);
  const of = (messageId: number): SegmentRow[] => {
    const known = remembered.get(messageId);
    if (known !== undefined) return known;
    const rows = selectOf.all({ messageId });
    if (rows.length > 0 && rows.length <= MAX_PARTS) remembered.set(messageId, rows);
    return rows;
  };
  const one = (messageId: number, seq: number) => of(messageId).find((row) => row.seq === seq);
  return {
    /** A message's segments, in their order. */
    of,
    one,
    /** When the first of this work is due; null: there is none. */
    nextAt: (work: Omit<ReadyWork, "nextAt">): number | null => selectNext.get(work)?.nextAt ?? null,
    /** Unknown outcomes that are to be given up by now, the first first. */
    unknownDue: (now: number, limit: number): SegmentRow[] => selectUnknown.all({ now, limit }),

    inFlight: (): SegmentRow[] =>
      orm
        .select()
        .from(smsSegments)
        .where(and(IS_OPEN, sql`state = 'in_flight'`))
        .all(),

    /** All work that waits, as at a start: one entry a workspace, route and priority. */
    readyWork: (): ReadyWork[] =>
      orm
        .select({
          route: smsSegments.route,
          priority: smsSegments.priority,
          workspaceId: smsSegments.workspaceId,
          nextAt: sql<number>`MIN(${smsSegments.nextAt})`,
        })
        .from(smsSegments)
        .where(IS_READY)
        .groupBy(smsSegments.route, smsSegments.priority, smsSegments.workspaceId)
        .all(),

    /**
     * Segments of a route that have this id, with their destinations, the newest first: ids come again, so that
     * the destination decides.
     */
    bySmscId(route: string, key: string): FoundSegment[] {
      const found = [...selectById.all({ route, key }), ...selectBySecondId.all({ route, key })];
      const inOrder = found.length < 2 ? found : found.toSorted((a, b) => b.messageId - a.messageId || b.seq - a.seq);
      return inOrder.flatMap(({ messageId, seq, recipient }) => {
        const segment = one(messageId, seq);
        return segment === undefined ? [] : [{ segment, message: { recipient } }];
      });
    },
  };
}
