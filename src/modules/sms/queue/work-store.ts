import { and, asc, eq, gt, gte, inArray, isNotNull, lte, notBetween, notInArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { smsMessages, smsSegments } from "../../../platform/db/schema/sms.ts";
import { fast } from "../../../platform/db/statement.ts";
import { type Jump, LONGEST_JUMP_MS } from "./message-clock.ts";
import { type FoundSegment, IS_READY, type ReadyWork, type SegmentRow } from "./segment-read-store.ts";
import { CLAIMED } from "./segment-store.ts";

// What the dispatcher asks of the segments beside their moves: whole texts, work that changes its route, and what
// a receipt without a known id may be about.

/** After a far step back, what would wait for longer waits so much: about what SMSCs are given when they ask for time. */
const SOON_MS = 60_000;
/** A jump is seen within so much. */
const SINCE_JUMP_MS = 2_000;

/** Nothing of a segment's text was taken by an SMSC, or may have been. */
const IS_UNTOUCHED = sql.raw(`NOT EXISTS (SELECT 1 FROM sms_segment AS other
  WHERE other.message_id = sms_segment.message_id AND (other.state <> 'ready' OR other.resends > 0))`);

export type WorkStore = ReturnType<typeof openWorkStore>;

/** `texts`: those who remember them; null: any may have changed. */
export function openWorkStore({ orm }: Db, texts: { forget: (messageId: number | null) => void }) {
  const p = sql.placeholder;
  const updateRest = fast(
    orm
      .update(smsSegments)
      .set(CLAIMED)
      .where(and(IS_READY, eq(smsSegments.messageId, p("messageId"))))
      .returning(),
  );
  const ready = orm
    .select({ messageId: smsSegments.messageId })
    .from(smsSegments)
    .where(and(IS_READY, eq(smsSegments.route, p("route"))))
    .limit(p("limit"))
    .as("ready");
  const selectWaiting = fast(
    orm.select({ count: sql<number>`COUNT(*)`, oldestId: sql<number | null>`MIN(${ready.messageId})` }).from(ready),
  );
  // Not the dead: "failed" only where nobody knew whether it was taken.
  const isOpen = sql`(${smsSegments.state} IN ('unknown', 'in_flight', 'accepted') OR (${smsSegments.state} = 'failed' AND ${smsSegments.category} = 'outcome_unknown') OR ${smsSegments.resends} > 0)`;
  return {
    /** The other parts of a text that the route carries whole; after the claim of some, in its transaction. */
    claimRest(messageId: number, claim: { link: string; leaseEpoch: number; now: number }): SegmentRow[] {
      texts.forget(messageId);
      return updateRest.all({ messageId, ...claim });
    },

    /**
     * Segments that went to a number by a route since then, and whose receipts may still come: without an answer, sent
     * twice, or accepted. What a receipt of an id that nobody knows may be about.
     */
    openTo: (route: string, recipient: string, since: number): FoundSegment[] =>
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
            isOpen,
          ),
        )
        .all(),

    /** A text is written anew in UTF-16, in as many parts as it had. */
    recode(messageId: number, parts: readonly Uint8Array[]): void {
      texts.forget(messageId);
      orm.update(smsMessages).set({ encoding: "ucs2", alphabet: "gsm" }).where(eq(smsMessages.id, messageId)).run();
      for (const [index, part] of parts.entries())
        orm
          .update(smsSegments)
          .set({ payload: Buffer.from(part) })
          .where(and(eq(smsSegments.messageId, messageId), eq(smsSegments.seq, index + 1)))
          .run();
    },
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
        .where(and(IS_READY, eq(smsSegments.route, route), IS_UNTOUCHED))
        .orderBy(asc(smsSegments.messageId))
        .limit(limit)
        .all()
        .map(({ id }) => id),

    /** Texts that wait for routes other than these, some of them. Not DISTINCT, which would walk over all texts by id. */
    strayed(routes: string[], limit: number): number[] {
      const rows = orm
        .select({ id: smsSegments.messageId })
        .from(smsSegments)
        .where(and(IS_READY, notInArray(smsSegments.route, routes)))
        .limit(limit)
        .all();
      return [...new Set(rows.map(({ id }) => id))];
    },

    /** Texts of which nothing was sent, and that wait for these links, may be sent by any; the work they are. */
    free(route: string, links: string[]): ReadyWork[] {
      texts.forget(null);
      const { priority, workspaceId, nextAt } = smsSegments;
      const freed = orm
        .update(smsSegments)
        .set({ link: null })
        .where(and(IS_READY, eq(smsSegments.route, route), inArray(smsSegments.link, links), IS_UNTOUCHED))
        .returning({ priority, workspaceId, nextAt })
        .all();
      return freed.map((row) => ({ route, ...row }));
    },

    /**
     * The wall clock jumped: what waits is due when it was to be, and no lifetime is shorter or longer for it. Texts
     * accepted since have the new time already.
     */
    moveTimes({ byMs, beforeMs, seenForMs }: Jump): void {
      texts.forget(null);
      const [from, until] = byMs > 0 ? [0, beforeMs] : [beforeMs + byMs - SINCE_JUMP_MS - seenForMs, beforeMs + byMs];
      // So far back, the clock may be right again: only what has a time that lies ahead now is of the time of before.
      const isFar = byMs < -LONGEST_JUMP_MS;
      const isOldBefore = isFar ? gt(smsMessages.createdAt, until) : notBetween(smsMessages.createdAt, from, until);
      const isOld = byMs > 0 ? lte(smsMessages.createdAt, until) : isOldBefore;
      const old = orm
        .select({ id: smsMessages.id })
        .from(smsMessages)
        .where(and(sql.raw("is_final = 0"), isOld));
      const nextAt = sql`${smsSegments.nextAt} + ${byMs}`;
      orm
        .update(smsSegments)
        .set({ nextAt })
        .where(and(sql.raw("state IN ('ready', 'unknown')"), inArray(smsSegments.messageId, old)))
        .run();
      orm
        .update(smsMessages)
        .set({ expiresAt: sql`${smsMessages.expiresAt} + ${byMs}` })
        .where(and(sql.raw("is_final = 0"), isOld))
        .run();
      if (!isFar) return;
      // Older texts that were put off by the time of before.
      const soon = until + SOON_MS;
      orm
        .update(smsSegments)
        .set({ nextAt: soon })
        .where(and(IS_READY, gt(smsSegments.nextAt, soon)))
        .run();
    },

    /** What waits for links other than these may be sent by any. */
    unpin(links: string[]): void {
      texts.forget(null);
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
