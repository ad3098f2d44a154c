// The messages, and the numbers that join their parts. Only settle-message.ts writes what follows from a message's segments (`PublicState`).

import { and, asc, desc, eq, gt, gte, inArray, lt, lte, notBetween, sql } from "drizzle-orm";
import { isOlder, isWithin, newestFirst } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import { TransactionalCache } from "../../../platform/db/transactional-cache.ts";
import { smsMessages, smsReferences, smsSegments } from "../../../platform/db/schema/sms.ts";
import { bindMembers, prepare, toPlaceholders } from "../../../platform/db/statement.ts";
import type { TimeRange } from "../../../platform/http/times.ts";
import type { ListedRows, Position } from "../../../platform/http/pagination.ts";
import { type Jump, LONGEST_JUMP_MS } from "./message-clock.ts";
import { IS_READY } from "./segment-read-store.ts";

export type MessageRow = typeof smsMessages.$inferSelect;
export type SmsStatus = MessageRow["status"];

/** What follows from a message's segments. */
export type PublicState = Pick<
  MessageRow,
  | "status"
  | "deliveryState"
  | "failureCategory"
  | "providerId"
  | "providerStatus"
  | "providerErrorCode"
  | "failedReason"
  | "credits"
  | "possibleDuplicate"
  | "sentAt"
  | "deliveredAt"
  | "lastEventAt"
  | "isFinal"
>;

/** A change of a message that is worth an event. */
export interface MessageChange {
  message: MessageRow;
  status: "sent" | "delivered" | "undelivered" | "failed" | "expired";
  /** Unix ms. */
  at: number;
}

export type NewMessage = Omit<MessageRow, "id" | "isErased" | keyof PublicState>;

/** Null: any. */
export interface MessageFilter extends TimeRange {
  status: SmsStatus | null;
  to: string | null;
}

/** Messages to a number that are looked at for a page of those with a status. */
const MAX_LOOKED_AT = 5_000;

/** As a literal: SQLite uses a partial index only where the query says its condition in the same words. */
export const IS_NOT_FINAL = sql.raw("is_final = 0");

/** Messages on their way whose rows are remembered: each is asked for at each step that it takes. */
const MAX_REMEMBERED = 10_000;

/** Of what was just accepted. */
const NOTHING_HAPPENED = {
  status: "queued",
  deliveryState: null,
  failureCategory: null,
  providerId: null,
  providerStatus: null,
  providerErrorCode: null,
  failedReason: null,
  possibleDuplicate: false,
  sentAt: null,
  deliveredAt: null,
  lastEventAt: null,
  isFinal: false,
  isErased: false,
} as const satisfies Partial<MessageRow>;

export type MessageStore = ReturnType<typeof openMessageStore>;

export function openMessageStore(db: Db) {
  const { orm, changes } = db;
  const p = sql.placeholder;
  const insertRow = prepare(
    orm.insert(smsMessages).values({
      ...toPlaceholders(smsMessages, "uid", "workspaceId", "recipient", "sender", "body", "sentText", "encoding"),
      ...toPlaceholders(smsMessages, "alphabet", "segments", "expiresAt", "createdAt", "keyId", "userId"),
      credits: p("segments"),
      status: "queued",
      isHelp: sql`${sql.param(p("isHelp"), smsMessages.isHelp)}`,
    }),
  );
  const selectById = prepare(
    orm
      .select()
      .from(smsMessages)
      .where(eq(smsMessages.id, p("id"))),
  );
  const selectByUid = prepare(
    orm
      .select()
      .from(smsMessages)
      .where(and(eq(smsMessages.uid, p("uid")), eq(smsMessages.workspaceId, p("workspaceId")))),
  );
  const updateState = prepare(
    orm
      .update(smsMessages)
      .set({
        ...bindMembers("status", "deliveryState", "failureCategory", "failedReason", "credits"),
        ...bindMembers("providerId", "providerStatus", "providerErrorCode"),
        ...bindMembers("sentAt", "deliveredAt", "lastEventAt"),
        possibleDuplicate: sql`${sql.param(p("possibleDuplicate"), smsMessages.possibleDuplicate)}`,
        isFinal: sql`${sql.param(p("isFinal"), smsMessages.isFinal)}`,
      })
      .where(eq(smsMessages.id, p("id"))),
  );
  const selectDue = prepare(
    orm
      .select({ id: smsMessages.id })
      .from(smsMessages)
      .where(and(IS_NOT_FINAL, eq(smsMessages.status, p("status")), lte(smsMessages.expiresAt, p("until"))))
      .orderBy(asc(smsMessages.expiresAt))
      .limit(p("limit")),
  );

  // Whatever changes a message must forget it here.
  const remembered = new TransactionalCache<number, MessageRow>(MAX_REMEMBERED);
  db.listeners.push(remembered);

  /** Called for each change that is worth an event, inside its transaction. */
  let tell: ((change: MessageChange) => void) | null = null;

  const listOfStatus = (
    workspaceId: number,
    { status, to, ...range }: MessageFilter & { status: SmsStatus; to: string },
    before: Position | null,
    limit: number,
  ): ListedRows<MessageRow> => {
    const { id, createdAt, recipient } = smsMessages;
    const newest = orm
      .select({ id, createdAt, status: smsMessages.status })
      .from(smsMessages)
      .where(
        and(
          eq(recipient, to),
          eq(smsMessages.workspaceId, workspaceId),
          isOlder(smsMessages, before),
          isWithin(createdAt, range),
        ),
      )
      .orderBy(...newestFirst(smsMessages))
      .limit(MAX_LOOKED_AT)
      .as("newest");
    const found = orm
      .select({ id: newest.id })
      .from(newest)
      .where(eq(newest.status, status))
      .limit(limit + 1);
    const rows = orm
      .select()
      .from(smsMessages)
      .where(inArray(id, found))
      .orderBy(...newestFirst(smsMessages))
      .all();
    const last = orm
      .select({ id: newest.id, createdAt: newest.createdAt })
      .from(newest)
      .limit(1)
      .offset(MAX_LOOKED_AT - 1)
      .get();
    return { rows, lookedUpTo: last ?? null };
  };

  return {
    /** Inside the accepting transaction; its integer id. */
    insert(row: NewMessage): number {
      const id = Number(insertRow.run(row).lastInsertRowid);
      remembered.put(id, { id, ...row, ...NOTHING_HAPPENED, credits: row.segments });
      changes.note(row.workspaceId, "sms", id);
      return id;
    },
    byId(id: number): MessageRow | undefined {
      const known = remembered.get(id);
      if (known !== undefined) return known;
      const row = selectById.get({ id });
      if (row !== undefined) remembered.set(id, row);
      return row;
    },
    /** Inside a transaction: others change or remove it; null: any. */
    forget(id: number | null): void {
      if (id === null) remembered.clear();
      else remembered.delete(id);
    },
    byUid: (workspaceId: number, uid: string): MessageRow | undefined => selectByUid.get({ workspaceId, uid }),
    /** What follows from its segments: only for settle-message.ts, as is the next; the row then. */
    setState(before: MessageRow, state: PublicState): MessageRow {
      const after = { ...before, ...state };
      updateState.run(after);
      changes.note(after.workspaceId, "sms", after.id);
      if (after.isFinal) remembered.delete(after.id);
      else remembered.put(after.id, after);
      return after;
    },
    changed: (change: MessageChange): void => tell?.(change),
    /** From now on `follow` is called for each change that is worth an event, inside the transaction that makes it. */
    followChanges(follow: NonNullable<typeof tell>): void {
      tell = follow;
    },
    /** The workspaces that sent to a number from this sender id after `since`, the last one first. */
    textedFrom: (recipient: string, sender: string, since: number): { workspaceId: number; lastAt: number }[] =>
      orm
        .select({ workspaceId: smsMessages.workspaceId, lastAt: sql<number>`MAX(${smsMessages.createdAt})` })
        .from(smsMessages)
        .where(
          and(eq(smsMessages.recipient, recipient), eq(smsMessages.sender, sender), gte(smsMessages.createdAt, since)),
        )
        .groupBy(smsMessages.workspaceId)
        .orderBy(desc(sql`MAX(${smsMessages.createdAt})`))
        .all(),
    /** Whether a subscriber's HELP was answered after `since`. */
    helpedSince: (workspaceId: number, recipient: string, since: number): boolean =>
      orm
        .select({ id: smsMessages.id })
        .from(smsMessages)
        .where(
          and(
            eq(smsMessages.recipient, recipient),
            eq(smsMessages.workspaceId, workspaceId),
            gte(smsMessages.createdAt, since),
            eq(smsMessages.isHelp, true),
          ),
        )
        .limit(1)
        .get() !== undefined,
    /** Messages of a status that have more to come and whose lifetime was over by `until`, the first first. */
    expired: (status: SmsStatus, until: number, limit: number): number[] =>
      selectDue.all({ status, until, limit }).map(({ id }) => id),

    /** The newest of a workspace's messages to a number. */
    listTo: (workspaceId: number, recipient: string, before: Position, limit: number): MessageRow[] =>
      orm
        .select()
        .from(smsMessages)
        .where(
          and(
            eq(smsMessages.recipient, recipient),
            eq(smsMessages.workspaceId, workspaceId),
            isOlder(smsMessages, before),
          ),
        )
        .orderBy(...newestFirst(smsMessages))
        .limit(limit)
        .all(),

    /**
     * A page of a workspace's messages, newest first, and one row more when there are more. No index has both number and
     * status: with both, only so many of the number's messages are looked at for a page, and `lookedUpTo` says how far.
     */
    list(workspaceId: number, filter: MessageFilter, before: Position | null, limit: number): ListedRows<MessageRow> {
      const { status, to } = filter;
      if (status !== null && to !== null) return listOfStatus(workspaceId, { ...filter, status, to }, before, limit);
      const of = and(
        eq(smsMessages.workspaceId, workspaceId),
        to === null ? undefined : eq(smsMessages.recipient, to),
        status === null ? undefined : eq(smsMessages.status, status),
        isWithin(smsMessages.createdAt, filter),
      );
      const read = (where: ReturnType<typeof and>, rows: number) =>
        orm
          .select()
          .from(smsMessages)
          .where(and(of, where))
          .orderBy(desc(smsMessages.createdAt), desc(smsMessages.id))
          .limit(rows)
          .all();
      if (before === null) return { rows: read(undefined, limit + 1) };
      const { createdAt, id } = before;
      // Two ranges: in one SQLite would walk all of the cursor's millisecond.
      const same = read(and(eq(smsMessages.createdAt, createdAt), lt(smsMessages.id, id)), limit + 1);
      return { rows: [...same, ...read(lt(smsMessages.createdAt, createdAt), limit + 1 - same.length)] };
    },
  };
}

/** After a far step back, what would wait for longer waits so much: about what SMSCs are given when they ask for time. */
const SOON_MS = 60_000;
/** A jump is seen within so much. */
const SINCE_JUMP_MS = 2_000;

/**
 * The wall clock jumped: what waits is due when it was to be, and no lifetime is shorter or longer for it. Messages
 * accepted since have the new time already.
 */
export function moveTimes(orm: Db["orm"], { byMs, beforeMs, seenForMs }: Jump): void {
  const [from, until] = byMs > 0 ? [0, beforeMs] : [beforeMs + byMs - SINCE_JUMP_MS - seenForMs, beforeMs + byMs];
  // After so large a step back, the clock may be right again: only what has a time that lies ahead now is of the time of before.
  const isFar = byMs < -LONGEST_JUMP_MS;
  const isOldBefore = isFar ? gt(smsMessages.createdAt, until) : notBetween(smsMessages.createdAt, from, until);
  const isOld = byMs > 0 ? lte(smsMessages.createdAt, until) : isOldBefore;
  const old = orm.select({ id: smsMessages.id }).from(smsMessages).where(and(IS_NOT_FINAL, isOld));
  const nextAt = sql`${smsSegments.nextAt} + ${byMs}`;
  orm
    .update(smsSegments)
    .set({ nextAt })
    .where(and(sql.raw("state IN ('ready', 'unknown')"), inArray(smsSegments.messageId, old)))
    .run();
  orm
    .update(smsMessages)
    .set({ expiresAt: sql`${smsMessages.expiresAt} + ${byMs}` })
    .where(and(IS_NOT_FINAL, isOld))
    .run();
  if (!isFar) return;
  // Older messages that were put off by the old time.
  const soon = until + SOON_MS;
  orm
    .update(smsSegments)
    .set({ nextAt: soon })
    .where(and(IS_READY, gt(smsSegments.nextAt, soon)))
    .run();
}

export type ReferenceStore = ReturnType<typeof openReferenceStore>;

/** Counts messages of several parts by their recipient: the parts of two must not be mixed on a phone. */
export function openReferenceStore({ orm }: Db) {
  const next = prepare(
    orm
      .insert(smsReferences)
      .values({ recipient: sql.placeholder("recipient"), last: 0 })
      .onConflictDoUpdate({
        target: smsReferences.recipient,
        set: { last: sql`(${smsReferences.last} + 1) & 65535` },
      })
      .returning({ last: smsReferences.last }),
  );
  return {
    /** The next reference to a number, 0 to 65,535; with 8 bits it is taken mod 256. */
    next(recipient: string): number {
      return next.get({ recipient }).last;
    },
    /** Inside a transaction: counting begins anew with its next message. */
    forget(recipient: string): void {
      orm.delete(smsReferences).where(eq(smsReferences.recipient, recipient)).run();
    },
  };
}
