import { and, asc, eq, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { smsMessages, smsSegments } from "../db/schema-sms.ts";
import { fast } from "../db/statement.ts";
import type { Priority, SegmentRow } from "./segment-store.ts";

// How the segments are read. segment-store.ts is the one that changes them.

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

/** Prepares the statements that read. */
export function openSegmentReads(orm: Db["orm"]) {
  const selectOf = fast(
    orm
      .select()
      .from(smsSegments)
      .where(eq(smsSegments.messageId, p("messageId")))
      .orderBy(asc(smsSegments.seq))
      .prepare(),
  );
  const selectOne = fast(
    orm
      .select()
      .from(smsSegments)
      .where(and(eq(smsSegments.messageId, p("messageId")), eq(smsSegments.seq, p("seq"))))
      .prepare(),
  );
  const selectUnknown = fast(
    orm
      .select()
      .from(smsSegments)
      .where(and(IS_OPEN, sql`state = 'unknown'`, sql`next_at <= ${p("now")}`))
      .orderBy(asc(smsSegments.nextAt))
      .limit(p("limit"))
      .prepare(),
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
      .limit(1)
      .prepare(),
  );
  const byId = (column: typeof smsSegments.smscIdKey | typeof smsSegments.smscIdKey2) =>
    fast(
      orm
        .select({ segment: smsSegments, message: { recipient: smsMessages.recipient } })
        .from(smsSegments)
        .innerJoin(smsMessages, eq(smsMessages.id, smsSegments.messageId))
        .where(and(eq(smsSegments.route, p("route")), eq(column, p("key"))))
        .prepare(),
    );
  const selectById = byId(smsSegments.smscIdKey);
  const selectBySecondId = byId(smsSegments.smscIdKey2);
  return {
    /** A message's segments, in their order. */
    of: (messageId: number): SegmentRow[] => selectOf.all({ messageId }),
    one: (messageId: number, seq: number): SegmentRow | undefined => selectOne.get({ messageId, seq }),
    /** When the first of this work is due; null: there is none. */
    nextAt: (of: Omit<ReadyWork, "nextAt">): number | null => selectNext.get({ ...of })?.nextAt ?? null,
    /** Unknown outcomes that are to be given up by now, the first first. */
    unknownDue: (now: number, limit: number): SegmentRow[] => selectUnknown.all({ now, limit }),

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
      return found.toSorted((a, b) => b.segment.messageId - a.segment.messageId || b.segment.seq - a.segment.seq);
    },
  };
}
