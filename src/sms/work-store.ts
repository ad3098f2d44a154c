import { and, asc, eq, gte, inArray, isNotNull, isNull, notInArray, or, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { smsMessages, smsSegments } from "../db/schema-sms.ts";
import { fast } from "../db/statement.ts";
import { type FoundSegment, IS_READY } from "./segment-read-store.ts";
import type { SegmentRow } from "./segment-store.ts";

// What the dispatcher asks of the segments beside their moves: whole texts, work that changes its route, and what
// a receipt without a known id may be about.

export type WorkStore = ReturnType<typeof openWorkStore>;

export function openWorkStore({ orm }: Db) {
  const p = sql.placeholder;
  const given = (name: string) => sql`${p(name)}`;
  const updateRest = fast(
    orm
      .update(smsSegments)
      .set({
        state: "in_flight",
        link: given("link"),
        leaseEpoch: given("leaseEpoch"),
        attempts: sql`${smsSegments.attempts} + 1`,
        submittedAt: given("now"),
        changedAt: given("now"),
      })
      .where(and(IS_READY, eq(smsSegments.messageId, p("messageId"))))
      .returning()
      .prepare(),
  );
  const ready = orm
    .select({ messageId: smsSegments.messageId })
    .from(smsSegments)
    .where(and(IS_READY, eq(smsSegments.route, p("route"))))
    .limit(p("limit"))
    .as("ready");
  const selectWaiting = fast(
    orm
      .select({ count: sql<number>`COUNT(*)`, oldestId: sql<number | null>`MIN(${ready.messageId})` })
      .from(ready)
      .prepare(),
  );
  // Not the dead: "failed" only where nobody knew whether it was taken.
  const isOpen = sql`(${smsSegments.state} IN ('unknown', 'in_flight') OR (${smsSegments.state} = 'failed' AND ${smsSegments.category} = 'outcome_unknown') OR ${smsSegments.resends} > 0)`;
  return {
    /** The other parts of a text that the route carries whole; after the claim of some, in its transaction. */
    claimRest: (messageId: number, claim: { link: string; leaseEpoch: number; now: number }): SegmentRow[] =>
      updateRest.all({ messageId, ...claim }),

    /**
     * Segments that went to a number by a route since then, and of which no answer has told an id, the newest first:
     * what a receipt of an id that nobody knows may be about.
     */
    withoutAnswer: (route: string, recipient: string, since: number): FoundSegment[] =>
      orm
        .select({ segment: smsSegments, message: { recipient: smsMessages.recipient } })
        .from(smsMessages)
        .innerJoin(smsSegments, eq(smsSegments.messageId, smsMessages.id))
        .where(
          and(
            eq(smsMessages.recipient, recipient),
            gte(smsMessages.createdAt, since),
            eq(smsSegments.route, route),
            isNotNull(smsSegments.submittedAt),
            or(isNull(smsSegments.smscIdKey), sql`${smsSegments.resends} > 0`),
            isOpen,
          ),
        )
        .all(),

    /** Whether anything waits for a route. */
    hasWaiting: (route: string): boolean => selectWaiting.get({ route, limit: 1 })?.count === 1,

    /** How many segments wait for a route, and the first of their messages; of more than `limit` some. */
    waiting: (route: string, limit: number): { count: number; oldestId: number | null } =>
      selectWaiting.get({ route, limit }) ?? { count: 0, oldestId: null },

    /** Texts that wait for a route and of which nothing was sent, some of them. */
    unsent: (route: string, limit: number): number[] =>
      orm
        .selectDistinct({ id: smsSegments.messageId })
        .from(smsSegments)
        .where(
          and(
            IS_READY,
            eq(smsSegments.route, route),
            sql`NOT EXISTS (SELECT 1 FROM sms_segment AS other WHERE other.message_id = ${smsSegments.messageId}
              AND (other.state <> 'ready' OR other.resends > 0))`,
          ),
        )
        .orderBy(asc(smsSegments.messageId))
        .limit(limit)
        .all()
        .map(({ id }) => id),

    /** Texts that wait for routes other than these, some of them. */
    strayed: (routes: string[], limit: number): number[] =>
      orm
        .selectDistinct({ id: smsSegments.messageId })
        .from(smsSegments)
        .where(and(IS_READY, notInArray(smsSegments.route, routes)))
        .limit(limit)
        .all()
        .map(({ id }) => id),

    /** What waits for links other than these may be sent by any. */
    unpin(links: string[]): void {
      const gone = orm
        .selectDistinct({ link: smsSegments.link })
        .from(smsSegments)
        .where(and(IS_READY, isNotNull(smsSegments.link), notInArray(smsSegments.link, links)))
        .all()
        .flatMap(({ link }) => (link === null ? [] : [link]));
      if (gone.length === 0) return;
      orm
        .update(smsSegments)
        .set({ link: null })
        .where(and(IS_READY, inArray(smsSegments.link, gone)))
        .run();
    },
  };
}
