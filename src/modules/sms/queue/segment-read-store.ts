// Segments as their rows have them, and how they are read: single messages, and the work that waits.

import { and, asc, eq, gte, inArray, isNotNull, notInArray, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { smsMessages, smsSegments } from "../../../platform/db/schema/sms.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { TransactionalCache } from "../../../platform/db/transactional-cache.ts";

export type SegmentRow = typeof smsSegments.$inferSelect;
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
  message: { recipient: string; isErased: boolean };
}

export type NewSegment = Pick<
  SegmentRow,
  "messageId" | "seq" | "parts" | "workspaceId" | "payload" | "reference" | "umr" | "route" | "priority" | "nextAt"
>;

export interface Claim {
  route: string;
  priority: Priority;
  workspaceId: number;
  link: string;
  leaseEpoch: number;
  now: number;
  limit: number;
}

/** What a move comes from: most often a row as it was read or claimed. */
export type ExpectedSegment = Pick<SegmentRow, "messageId" | "seq" | "state" | "leaseEpoch">;

/** What was last said of a segment, in the provider's words and in ours; null: nothing is wrong with it. */
export type ProviderWords = Pick<SegmentRow, "providerStatus" | "providerCode" | "category" | "reason">;

export const SILENT: ProviderWords = { providerStatus: null, providerCode: null, category: null, reason: null };

export function getWords({ providerStatus, providerCode, category, reason }: SegmentRow): ProviderWords {
  return { providerStatus, providerCode, category, reason };
}

export function toReadyWork({ route, priority, workspaceId }: SegmentRow, nextAt: number): ReadyWork {
  return { route, priority, workspaceId, nextAt };
}

/** `isCounted` false takes the attempt back (throttled); `isResend` true follows an unknown outcome. */
export interface RetryUpdate {
  now: number;
  nextAt: number;
  isCounted: boolean;
  isResend: boolean;
  /** By status, this one among them; absent: as before. */
  retries?: Record<string, number>;
}

/** What no statement binds: SQLite uses a partial index only where the query says its condition in the same words. */
export const IS_READY = sql.raw("state = 'ready'");
export const IS_OPEN = sql.raw("state IN ('in_flight', 'unknown')");

const p = sql.placeholder;

/** What is ready of one `ReadyWork`, whose members are bound. */
export const IS_READY_WORK = and(
  IS_READY,
  eq(smsSegments.route, p("route")),
  eq(smsSegments.priority, p("priority")),
  eq(smsSegments.workspaceId, p("workspaceId")),
);

/** Longer messages are read at each step: as many of them as are remembered of others would take hundreds of megabytes. */
const MAX_PARTS = 4;

/** The segments of messages, in their order. */
export type SegmentCache = TransactionalCache<number, SegmentRow[]>;

/** Nothing of a segment's message was taken by an SMSC, or may have been. */
const IS_UNTOUCHED = sql.raw(`NOT EXISTS (SELECT 1 FROM sms_segment AS other
  WHERE other.message_id = sms_segment.message_id AND (other.state <> 'ready' OR other.resends > 0))`);

/** How segments are read, and what a receipt without a known id may be about. */
export function openSegmentReads(orm: Db["orm"], remembered: SegmentCache) {
  const selectByMessage = prepare(
    orm
      .select()
      .from(smsSegments)
      .where(eq(smsSegments.messageId, p("messageId")))
      .orderBy(asc(smsSegments.seq)),
  );
  const selectUnknown = prepare(
    orm
      .select()
      .from(smsSegments)
      .where(and(IS_OPEN, sql`state = 'unknown'`, sql`next_at <= ${p("now")}`))
      .orderBy(asc(smsSegments.nextAt))
      .limit(p("limit")),
  );
  const selectNext = prepare(
    orm
      .select({ nextAt: smsSegments.nextAt })
      .from(smsSegments)
      .where(IS_READY_WORK)
      .orderBy(asc(smsSegments.nextAt))
      .limit(1),
  );
  const byId = (column: typeof smsSegments.smscIdKey | typeof smsSegments.smscIdKey2) =>
    prepare(
      orm
        .select({
          messageId: smsSegments.messageId,
          seq: smsSegments.seq,
          recipient: smsMessages.recipient,
          isErased: smsMessages.isErased,
        })
        .from(smsSegments)
        .innerJoin(smsMessages, eq(smsMessages.id, smsSegments.messageId))
        .where(and(eq(smsSegments.route, p("route")), eq(column, p("key")))),
    );
  const selectById = byId(smsSegments.smscIdKey);
  const selectBySecondId = byId(smsSegments.smscIdKey2);
  const listByMessage = (messageId: number): SegmentRow[] => {
    const known = remembered.get(messageId);
    if (known !== undefined) return known;
    const rows = selectByMessage.all({ messageId });
    if (rows.length > 0 && rows.length <= MAX_PARTS) remembered.set(messageId, rows);
    return rows;
  };
  const find = (messageId: number, seq: number) => listByMessage(messageId).find((row) => row.seq === seq);
  const ready = orm
    .select({ messageId: smsSegments.messageId })
    .from(smsSegments)
    .where(and(IS_READY, eq(smsSegments.route, p("route"))))
    .limit(p("limit"))
    .as("ready");
  const selectWaiting = prepare(
    orm.select({ count: sql<number>`COUNT(*)`, oldestId: sql<number | null>`MIN(${ready.messageId})` }).from(ready),
  );
  /** Messages with ready segments that match, some of them. Not DISTINCT, which would walk over all messages by id. */
  const listReady = (matches: SQL | undefined, limit: number): number[] => {
    const rows = orm
      .select({ id: smsSegments.messageId })
      .from(smsSegments)
      .where(and(IS_READY, matches))
      .limit(limit)
      .all();
    return [...new Set(rows.map(({ id }) => id))];
  };
  // "failed" only where it was uncertain whether the SMSC took it.
  const isOpen = sql`(${smsSegments.state} IN ('unknown', 'in_flight', 'accepted') OR (${smsSegments.state} = 'failed' AND ${smsSegments.category} = 'outcome_unknown') OR ${smsSegments.resends} > 0)`;
  return {
    /** A message's segments, in their order. */
    listByMessage,
    find,
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

    /**
     * Segments of a route that have this id, with their destinations, the newest first: ids come again, so that
     * the destination decides.
     */
    bySmscId(route: string, key: string): FoundSegment[] {
      const found = [...selectById.all({ route, key }), ...selectBySecondId.all({ route, key })];
      const inOrder = found.length < 2 ? found : found.toSorted((a, b) => b.messageId - a.messageId || b.seq - a.seq);
      return inOrder.flatMap(({ messageId, seq, ...message }) => {
        const segment = find(messageId, seq);
        return segment === undefined ? [] : [{ segment, message }];
      });
    },

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

    hasWaiting: (route: string): boolean => selectWaiting.get({ route, limit: 1 })?.count === 1,

    /** How many segments wait for a route, and the first of their messages; of more than `limit` some. */
    waiting: (route: string, limit: number): { count: number; oldestId: number | null } =>
      selectWaiting.get({ route, limit }) ?? { count: 0, oldestId: null },

    /** Some of the messages that wait for a route, and of which nothing was sent. */
    listUnsent: (route: string, limit: number): number[] =>
      orm
        .selectDistinct({ id: smsSegments.messageId })
        .from(smsSegments)
        .where(and(IS_READY, eq(smsSegments.route, route), IS_UNTOUCHED))
        .orderBy(asc(smsSegments.messageId))
        .limit(limit)
        .all()
        .map(({ id }) => id),

    /** Messages of a route that wait for these links, and of which nothing was sent. */
    listPinned: (route: string, links: string[], limit: number): number[] =>
      orm
        .selectDistinct({ id: smsSegments.messageId })
        .from(smsSegments)
        .where(and(IS_READY, eq(smsSegments.route, route), inArray(smsSegments.link, links), IS_UNTOUCHED))
        .limit(limit)
        .all()
        .map(({ id }) => id),

    /** Messages that wait for links other than these. */
    listPinnedElsewhere: (links: string[], limit: number): number[] =>
      listReady(and(isNotNull(smsSegments.link), notInArray(smsSegments.link, links)), limit),
    /** Messages that wait for routes other than these. */
    listStrayed: (routes: string[], limit: number): number[] => listReady(notInArray(smsSegments.route, routes), limit),

    /**
     * Segments that went to a number by a route since then, and whose receipts may still come: without an answer, sent
     * twice, or accepted. A receipt with an unknown id may be about one of these.
     */
    openTo: (route: string, recipient: string, since: number): FoundSegment[] =>
      orm
        .select({ segment: smsSegments, message: { recipient: smsMessages.recipient, isErased: smsMessages.isErased } })
        .from(smsMessages)
        .innerJoin(smsSegments, eq(smsSegments.messageId, smsMessages.id))
        .where(
          and(
            eq(smsMessages.recipient, recipient),
            gte(smsMessages.createdAt, since),
            eq(smsSegments.route, route),
            isNotNull(smsSegments.submittedAt),
            isOpen,
          ),
        )
        .all(),
  };
}
