// The segments, which are the queue of the links: how they are claimed, and what becomes of each.

import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { TransactionalCache } from "../../../platform/db/transactional-cache.ts";
import { smsMessages, smsSegments } from "../../../platform/db/schema/sms.ts";
import { bindMembers, prepare, toPlaceholders } from "../../../platform/db/statement.ts";
import { ERASED, ERASED_RECIPIENT } from "../../recipients/erased.ts";
import { ChangedMessages } from "./changed-messages.ts";
import type { Jump } from "./message-clock.ts";
import { moveTimes } from "./message-store.ts";
import {
  type RetryUpdate,
  type Claim,
  type ExpectedSegment,
  IS_OPEN,
  IS_READY,
  type NewSegment,
  openSegmentReads,
  type ReadyWork,
  type SegmentCache,
  type SegmentRow,
  type ProviderWords,
} from "./segment-read-store.ts";

// A segment is claimed for one connection of one link (`leaseEpoch`) and is in flight before its PDU is written. Every
// move names the state and the connection that it comes from, so that an old connection changes nothing any more:
//
//   ready → in_flight → accepted → delivered | failed | expired
//   in_flight → ready (a refusal for now) | failed (for good) | unknown (drop, timeout, start)
//   unknown → accepted | ready | failed          ready → failed | expired
//   failed, expired → accepted … by late evidence
//
// A change of a segment changes its message: `settle` is called once for each such message, before the COMMIT
// (settle-message.ts derives its public state, gives credits back and emits its events).

/** Messages whose segments are remembered from their claim on: each is asked for at each step that it takes. */
const MAX_REMEMBERED = 10_000;

export type SegmentStore = ReturnType<typeof openSegmentStore>;

const p = sql.placeholder;
/** A member that is given by another name than its own. */
const given = (name: string) => sql`${p(name)}`;

/** What a claim makes of a segment: its `link`, `leaseEpoch` and `now` are bound. */
const CLAIMED = {
  state: "in_flight",
  ...bindMembers("link", "leaseEpoch"),
  attempts: sql`${smsSegments.attempts} + 1`,
  submittedAt: given("now"),
  changedAt: given("now"),
} as const;

/** `forgetMessage`: the rows of a message change without its store; null: those of any. */
export function openSegmentStore(
  db: Db,
  settle: (messageId: number) => void,
  forgetMessage: (messageId: number | null) => void,
) {
  const changed = new ChangedMessages(settle);
  // Whatever changes a segment must forget it here.
  const remembered: SegmentCache = new TransactionalCache(MAX_REMEMBERED);
  db.listeners.push(changed, remembered);
  const { orm } = db;
  /** Inside a transaction: others change or remove segments of this message; null: of any. */
  const forget = (messageId: number | null) => {
    if (messageId === null) remembered.clear();
    else remembered.delete(messageId);
  };
  const forgetBoth = (messageId: number | null) => {
    forget(messageId);
    forgetMessage(messageId);
  };
  const insertRow = prepare(
    orm.insert(smsSegments).values({
      ...toPlaceholders(smsSegments, "messageId", "seq", "parts", "workspaceId", "payload", "reference", "umr"),
      ...toPlaceholders(smsSegments, "route", "priority", "nextAt"),
      state: "ready",
    }),
  );
  // The table has no rowid; the order of RETURNING is not defined.
  const updateClaimed = prepare(
    orm
      .update(smsSegments)
      .set(CLAIMED)
      .where(
        sql`(message_id, seq) IN (
          SELECT message_id, seq FROM sms_segment
          WHERE ${IS_READY} AND route = ${p("route")} AND priority = ${p("priority")} AND workspace_id = ${p("workspaceId")}
            AND next_at <= ${p("now")} AND (link IS NULL OR link = ${p("link")})
          ORDER BY next_at, message_id, seq LIMIT ${p("limit")})`,
      )
      .returning(),
  );
  const pin = prepare(
    orm
      .update(smsSegments)
      .set(bindMembers("link"))
      .where(and(eq(smsSegments.messageId, p("messageId")), sql`link IS NULL`)),
  );
  const updateInFlight = prepare(
    orm
      .update(smsSegments)
      .set({ state: "unknown", nextAt: given("giveUpAt"), changedAt: given("now") })
      .where(and(IS_OPEN, sql`state = 'in_flight'`))
      .returning({ messageId: smsSegments.messageId }),
  );
  const isAsExpected = and(
    eq(smsSegments.messageId, p("messageId")),
    eq(smsSegments.seq, p("seq")),
    eq(smsSegments.state, p("state")),
    eq(smsSegments.leaseEpoch, p("leaseEpoch")),
  );
  const words = bindMembers("providerStatus", "providerCode", "category", "reason");
  const move = (set: Parameters<ReturnType<typeof orm.update<typeof smsSegments>>["set"]>[0]) =>
    prepare(
      orm
        .update(smsSegments)
        .set({ ...set, changedAt: given("now") })
        .where(isAsExpected),
    );
  const toUnknown = move({ state: "unknown", nextAt: given("giveUpAt") });
  const toAccepted = move({
    ...words,
    ...bindMembers("smscId", "smscIdKey", "expectsReceipt"),
    state: "accepted",
    acceptedAt: given("now"),
  });
  const toReady = move({
    ...words,
    ...bindMembers("nextAt"),
    state: "ready",
    attempts: sql`${smsSegments.attempts} - ${p("uncounted")}`,
    resends: sql`${smsSegments.resends} + ${p("resend")}`,
    retries: sql`COALESCE(${p("retries")}, ${smsSegments.retries})`,
    // A message of one segment may be sent by any link; the parts of others stay with the link that has the first.
    link: sql`CASE WHEN ${smsSegments.parts} = 1 THEN NULL ELSE ${smsSegments.link} END`,
  });
  const toEnd = move({ ...words, state: given("end") });
  const toReceipt = move({
    ...words,
    ...bindMembers("receiptState"),
    state: given("next"),
    receiptAt: given("now"),
    // What the network knows of, the SMSC had.
    acceptedAt: sql`COALESCE(${smsSegments.acceptedAt}, ${p("now")})`,
  });
  const toOverdue = move({ overdue: given("status") });
  const change = (set: Parameters<typeof move>[0], where: SQL) =>
    prepare(
      orm
        .update(smsSegments)
        .set(set)
        .where(and(eq(smsSegments.messageId, p("messageId")), where)),
    );
  const isPart = eq(smsSegments.seq, p("seq"));
  const updateSecondId = change({ smscIdKey2: given("key") }, isPart);
  const setCredit = change(bindMembers("credit"), isPart);
  const delayReady = change(bindMembers("nextAt"), IS_READY);
  const reroutes = sql`${smsSegments.reroutes} + ${p("reroutes")}`;
  const moveRoute = change({ ...bindMembers("route"), link: null, reroutes }, IS_READY);
  const endReady = change({ ...words, state: given("end"), changedAt: given("now") }, IS_READY);

  const fenced = (
    statement: typeof toUnknown,
    { messageId, seq, state, leaseEpoch }: ExpectedSegment,
    values: object,
    written?: (row: SegmentRow) => Partial<SegmentRow>,
  ) => {
    const isMoved = statement.run({ messageId, seq, state, leaseEpoch, ...values }).changes > 0;
    if (!isMoved) return false;
    changed.note(messageId);
    const rows = written === undefined ? undefined : remembered.get(messageId);
    if (rows === undefined || written === undefined) remembered.delete(messageId);
    else
      remembered.put(
        messageId,
        rows.map((row) => (row.seq === seq ? { ...row, ...written(row) } : row)),
      );
    return true;
  };

  const updateRest = prepare(
    orm
      .update(smsSegments)
      .set(CLAIMED)
      .where(and(IS_READY, eq(smsSegments.messageId, p("messageId"))))
      .returning(),
  );

  return {
    ...openSegmentReads(orm, remembered),
    forget,
    /** Inside a closure that claims what it may itself have ended: its messages are settled before. */
    settleNow: () => changed.settleNow(),

    /** Inside the accepting transaction: a segment that is ready from `nextAt` on. */
    insert(segment: NewSegment): void {
      remembered.delete(segment.messageId);
      insertRow.run(segment);
    },
    /**
     * Claims due segments of one workspace for a connection, in the order in which they must be written: commit
     * first. All parts of a message are pinned to the link that claims the first of them.
     */
    claim(claim: Claim): SegmentRow[] {
      const rows = updateClaimed.all({ ...claim });
      // The rest of a message whose first parts went by a link that is gone keeps together as well.
      const long = new Set(rows.filter(({ parts }) => parts > 1).map(({ messageId }) => messageId));
      for (const messageId of long) pin.run({ messageId, link: claim.link });
      for (const row of rows) {
        if (row.parts === 1) remembered.put(row.messageId, [row]);
        else remembered.delete(row.messageId);
        changed.note(row.messageId);
      }
      return rows.toSorted((a, b) => a.nextAt - b.nextAt || a.messageId - b.messageId || a.seq - b.seq);
    },
    /** At a start, before any claim: the outcome of what was in flight is unknown; how many. */
    markInFlightUnknown(now: number, giveUpAt: number): number {
      const rows = updateInFlight.all({ now, giveUpAt });
      for (const { messageId } of rows) changed.note(messageId);
      remembered.clear();
      return rows.length;
    },

    // Each is inside a transaction, and false where the segment is not any more what `from` says: nothing was done.
    /** Whether it was accepted is unknown; it is given up at `giveUpAt`. */
    unknown: (from: ExpectedSegment, at: { now: number; giveUpAt: number }): boolean => fenced(toUnknown, from, at),
    /** The SMSC has it, under this id. */
    accept(
      from: ExpectedSegment,
      answer: { smscId: string | null; smscIdKey: string | null; expectsReceipt: boolean; now: number },
      said: ProviderWords,
    ): boolean {
      const { now, ...rest } = answer;
      const values = { ...answer, expectsReceipt: answer.expectsReceipt ? 1 : 0, ...said };
      const written = { ...said, ...rest, state: "accepted", acceptedAt: now, changedAt: now } as const;
      return fenced(toAccepted, from, values, () => written);
    },
    /** To be tried again. */
    retry(
      from: ExpectedSegment,
      { now, nextAt, isCounted, isResend, retries }: RetryUpdate,
      said: ProviderWords,
    ): boolean {
      const counted = { uncounted: isCounted ? 0 : 1, resend: isResend ? 1 : 0 };
      const all = retries === undefined ? null : JSON.stringify(retries);
      return fenced(toReady, from, { now, nextAt, retries: all, ...counted, ...said });
    },
    /** Given up before the SMSC had it: refused, expired, outcome unknown. */
    end: (from: ExpectedSegment, end: { state: "failed" | "expired"; now: number }, said: ProviderWords): boolean =>
      fenced(toEnd, from, { end: end.state, now: end.now, ...said }),
    /** A receipt that counts (status.ts `advance`, `toSegmentState`): the network's word on what the SMSC has. */
    receipt(
      from: ExpectedSegment,
      receipt: { state: SegmentRow["state"]; receiptState: NonNullable<SegmentRow["receiptState"]>; now: number },
      said: ProviderWords,
    ): boolean {
      const { state: next, receiptState, now } = receipt;
      const written = { ...said, state: next, receiptState, receiptAt: now, changedAt: now };
      const values = { next, receiptState, now, ...said };
      return fenced(toReceipt, from, values, ({ acceptedAt }) => ({ ...written, acceptedAt: acceptedAt ?? now }));
    },
    /** Its receipt is not waited for any longer; `status` is what that makes of its message. */
    overdue: (from: ExpectedSegment, end: { status: "sent" | "undelivered"; now: number }): boolean =>
      fenced(toOverdue, from, end),
    /** A second id of a segment that was sent twice. */
    addId(messageId: number, seq: number, key: string): void {
      remembered.delete(messageId);
      updateSecondId.run({ messageId, seq, key });
    },
    /** What is ready of a message is not due before `nextAt`. */
    delayReady(messageId: number, nextAt: number): void {
      remembered.delete(messageId);
      delayReady.run({ messageId, nextAt });
    },
    /**
     * What is ready of a message goes by another route, for a refusal (once: `reroutes`) or while no link of its own
     * is bound; only where no part was accepted or is unknown. How many.
     */
    moveReady(messageId: number, to: { route: string; isRefused: boolean }): number {
      remembered.delete(messageId);
      return moveRoute.run({ messageId, route: to.route, reroutes: to.isRefused ? 1 : 0 }).changes;
    },
    /** What is ready of a message is not sent any more; how many. */
    endReady(messageId: number, end: { state: "failed" | "expired"; now: number }, said: ProviderWords): number {
      remembered.delete(messageId);
      const { changes } = endReady.run({ messageId, end: end.state, now: end.now, ...said });
      if (changes > 0) changed.note(messageId);
      return changes;
    },
    /** The same for settle-message.ts, which settles the message at that moment. */
    abandonReady(messageId: number, now: number, said: ProviderWords): void {
      remembered.delete(messageId);
      endReady.run({ messageId, end: "failed", now, ...said });
    },
    /** What became of the credit of a segment: only for settle-message.ts. */
    setCredit(segment: Pick<SegmentRow, "messageId" | "seq">, credit: SegmentRow["credit"]): void {
      remembered.delete(segment.messageId);
      setCredit.run({ messageId: segment.messageId, seq: segment.seq, credit });
    },

    /** The other parts of a message that the route carries whole; after the claim of some, in its transaction. */
    claimRest(messageId: number, claim: { link: string; leaseEpoch: number; now: number }): SegmentRow[] {
      forgetBoth(messageId);
      return updateRest.all({ messageId, ...claim });
    },

    /** A message is written anew in UTF-16, in as many parts as it had. */
    recode(messageId: number, parts: readonly Uint8Array[]): void {
      forgetBoth(messageId);
      orm.update(smsMessages).set({ encoding: "ucs2", alphabet: "gsm" }).where(eq(smsMessages.id, messageId)).run();
      for (const [index, part] of parts.entries())
        orm
          .update(smsSegments)
          .set({ payload: Buffer.from(part) })
          .where(and(eq(smsSegments.messageId, messageId), eq(smsSegments.seq, index + 1)))
          .run();
    },

    /**
     * Replaces a message's recipient and words. A segment in flight goes on in memory; nothing is sent again
     * (settle-message.ts).
     */
    erase(messageId: number): void {
      forgetBoth(messageId);
      const recipient = ERASED_RECIPIENT.sms;
      orm
        .update(smsMessages)
        .set({ recipient, body: ERASED, sentText: null, isErased: true })
        .where(eq(smsMessages.id, messageId))
        .run();
      orm
        .update(smsSegments)
        .set({ payload: Buffer.alloc(0), reason: null })
        .where(eq(smsSegments.messageId, messageId))
        .run();
      changed.note(messageId);
    },

    /** Lets any link of its route send a message's ready segments; returns that work. */
    unpin(messageId: number): ReadyWork[] {
      forgetBoth(messageId);
      const { route, priority, workspaceId, nextAt } = smsSegments;
      return orm
        .update(smsSegments)
        .set({ link: null })
        .where(and(IS_READY, eq(smsSegments.messageId, messageId)))
        .returning({ route, priority, workspaceId, nextAt })
        .all();
    },

    moveTimes(jump: Jump): void {
      forgetBoth(null);
      moveTimes(orm, jump);
    },
  };
}
