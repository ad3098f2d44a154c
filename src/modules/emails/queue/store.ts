// The rows of the email queue. Claiming a row counts the attempt and postpones the row to its next attempt, in a committed
// transaction, before anything is connected: there are no leases, and a crash costs one attempt's delay. A row whose
// attempt runs has in_flight = 1 and is not claimed again, however long the attempt takes. Everything that ends an attempt
// is fenced by its number.
//
// A row is delayed when an attempt has ended without taking it off: its attempts, less the running one, are above 0. The
// begin of an attempt changes nothing of that, so that mail delivered at its first attempt, as most is, never counts as
// delayed; nor does its release. A row comes to be delayed at the end of its first attempt. Until then one with a send_at is
// scheduled, also when its time has come.
//
// No attempt at a row begins before its send_at: every statement that sets next_at keeps it from lying before that, and the
// table checks it. A clock that was set on may bring the attempt early; set back, it brings no second one early.

import { and, asc, eq, gt, inArray, isNotNull, lte, min, type SQL, sql } from "drizzle-orm";
import { prepareBatchEnd } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import { emailQueue, SYSTEM_WORKSPACE_ID } from "../../../platform/db/schema/schema.ts";
import { prepare, toPlaceholders } from "../../../platform/db/statement.ts";
import type { InterruptedJob, Job, LaneHead, WorkerQueue } from "../../../platform/queue/job.ts";
import { openLaneStore } from "./lane-store.ts";

/** Rows that one transaction reschedules. */
const RESCHEDULE_ROWS = 2_000;
/** After so many attempts a retry by hand comes no sooner than this after the last one. */
const FREE_RETRIES = 5;
const RETRY_PAUSE_MS = 60_000;

type Row = typeof emailQueue.$inferSelect;

/** They say as what a row counts, and whose it is. */
const COUNTED_COLUMNS = {
  workspaceId: emailQueue.workspaceId,
  domainId: emailQueue.domainId,
  attempts: emailQueue.attempts,
  inFlight: emailQueue.inFlight,
  sendAt: emailQueue.sendAt,
};
type Counted = Pick<Row, keyof typeof COUNTED_COLUMNS>;

/** The queue's state of an email between its attempts. */
export interface EmailState {
  /** Why the last attempt did not deliver. */
  lastReply: string | null;
  /** When DNS said that the recipient's domain does not exist; null: it did not. */
  badDomainAt: number | null;
}

export type EmailJob = Job<EmailState>;

/** An email to be queued; workspace, domain and time of acceptance as in its own row. */
export type NewRow = Pick<Row, "id" | "laneId" | "workspaceId" | "domainId" | "createdAt" | "nextAt" | "expiresAt"> &
  Partial<Pick<Row, "sendAt">>;

/** The status that a waiting row counts as, unless it is simply queued; a running attempt changes nothing. */
export type CountedState = "scheduled" | "delivery_delayed";

/** Notified, inside the transaction. */
interface QueueCounts {
  /** There is one such row of a sending domain more (1) or less (-1). */
  changed(owner: { workspaceId: number; domainId: number }, state: CountedState, change: 1 | -1): void;
}

/** Whether the operator holds a workspace's queue; nothing of a deleted one is sent. */
export function isQueueHeld(workspaceId: number, workspaces: { byId(id: number): { isHeld: boolean } | undefined }) {
  return workspaceId !== SYSTEM_WORKSPACE_ID && (workspaces.byId(workspaceId)?.isHeld ?? true);
}

export type QueueStore = ReturnType<typeof openQueueStore>;

/** A time for the next attempt, or the row's send_at if that is later. */
function notBeforeSendAt(at: SQL): SQL {
  return sql`MAX(${at}, COALESCE(${emailQueue.sendAt}, 0))`;
}

/** Prepares the statements of the queue; `counts` is notified of every row that comes to be scheduled or delayed, or ceases to be. */
export function openQueueStore(db: Db, counts: QueueCounts | null = null) {
  const { orm, changes } = db;
  const p = sql.placeholder;
  const findEnd = prepareBatchEnd(orm, emailQueue);
  // A row that was freed is no longer this attempt's, though it has its number.
  const isThisAttempt = and(
    eq(emailQueue.id, p("id")),
    eq(emailQueue.attempts, p("attempt")),
    eq(emailQueue.inFlight, true),
  );
  const insertRow = prepare(
    orm
      .insert(emailQueue)
      .values(
        toPlaceholders(
          emailQueue,
          "id",
          "laneId",
          "workspaceId",
          "domainId",
          "createdAt",
          "nextAt",
          "sendAt",
          "expiresAt",
        ),
      ),
  );
  const selectDue = prepare(
    orm
      .select()
      .from(emailQueue)
      .where(and(eq(emailQueue.laneId, p("laneId")), lte(emailQueue.nextAt, p("now")), eq(emailQueue.inFlight, false)))
      .orderBy(asc(emailQueue.nextAt), asc(emailQueue.id))
      .limit(p("limit")),
  );
  const updateClaimed = prepare(
    orm
      .update(emailQueue)
      .set({
        attempts: sql`${emailQueue.attempts} + 1`,
        inFlight: true,
        startedAt: sql`${p("now")}`,
        nextAt: notBeforeSendAt(sql`${p("nextAt")}`),
        dotAt: null,
      })
      .where(eq(emailQueue.id, p("id"))),
  );
  const selectHead = prepare(
    orm
      .select({ dueAt: emailQueue.nextAt, expiresAt: emailQueue.expiresAt })
      .from(emailQueue)
      .where(and(eq(emailQueue.laneId, p("laneId")), eq(emailQueue.inFlight, false)))
      .orderBy(asc(emailQueue.nextAt))
      .limit(1),
  );
  const updateDot = prepare(
    orm
      .update(emailQueue)
      .set({ dotAt: sql`${p("now")}` })
      .where(isThisAttempt)
      .returning({ id: emailQueue.id }),
  );
  const deleteRow = prepare(orm.delete(emailQueue).where(isThisAttempt).returning(COUNTED_COLUMNS));
  const updateDeferred = prepare(
    orm
      .update(emailQueue)
      .set({
        nextAt: notBeforeSendAt(sql`${p("nextAt")}`),
        lastReply: sql`${p("lastReply")}`,
        badDomainAt: sql`${p("badDomainAt")}`,
        inFlight: false,
        dotAt: null,
      })
      .where(isThisAttempt)
      .returning(COUNTED_COLUMNS),
  );
  const updateGivenBack = prepare(
    orm
      .update(emailQueue)
      .set({
        nextAt: notBeforeSendAt(sql`${p("dueAt")}`),
        attempts: sql`${emailQueue.attempts} - 1`,
        inFlight: false,
        dotAt: null,
      })
      .where(isThisAttempt)
      .returning({ workspaceId: emailQueue.workspaceId }),
  );
  const deleteWaiting = prepare(
    orm
      .delete(emailQueue)
      .where(and(eq(emailQueue.id, p("id")), eq(emailQueue.inFlight, false)))
      .returning(COUNTED_COLUMNS),
  );
  const deleteAny = prepare(
    orm
      .delete(emailQueue)
      .where(eq(emailQueue.id, p("id")))
      .returning(COUNTED_COLUMNS),
  );
  const updateDueNow = prepare(
    orm
      .update(emailQueue)
      // A row that is due already keeps its place among its lane's.
      .set({
        nextAt: notBeforeSendAt(sql`MIN(${emailQueue.nextAt}, CASE WHEN ${emailQueue.attempts} > ${FREE_RETRIES}
          THEN MAX(${p("now")}, ${emailQueue.startedAt} + ${RETRY_PAUSE_MS}) ELSE ${p("now")} END)`),
      })
      .where(and(eq(emailQueue.id, p("id")), eq(emailQueue.inFlight, false), gt(emailQueue.attempts, 0)))
      .returning({ laneId: emailQueue.laneId, dueAt: emailQueue.nextAt }),
  );
  const updateSendAt = prepare(
    orm
      .update(emailQueue)
      .set({ sendAt: sql`${p("sendAt")}`, nextAt: sql`${p("sendAt")}`, expiresAt: sql`${p("expiresAt")}` })
      .where(
        and(
          eq(emailQueue.id, p("id")),
          eq(emailQueue.inFlight, false),
          eq(emailQueue.attempts, 0),
          isNotNull(emailQueue.sendAt),
        ),
      )
      .returning({ workspaceId: emailQueue.workspaceId, laneId: emailQueue.laneId, dueAt: emailQueue.nextAt }),
  );
  const countRemoved = (row: Counted | undefined): void => {
    if (row === undefined) return;
    if (row.attempts > (row.inFlight ? 1 : 0)) counts?.changed(row, "delivery_delayed", -1);
    else if (row.sendAt !== null) counts?.changed(row, "scheduled", -1);
  };
  /** Its attempt ended without taking it off. */
  const countDelayed = (row: Counted | undefined): void => {
    if (row?.attempts !== 1) return;
    if (row.sendAt !== null) counts?.changed(row, "scheduled", -1);
    counts?.changed(row, "delivery_delayed", 1);
  };
  const queue = {
    ...openLaneStore(orm),

    claim({ laneId, now, limit, retryAt }): EmailJob[] {
      return selectDue
        .all({ laneId, now, limit })
        .map(({ id, workspaceId, attempts, nextAt: dueAt, expiresAt, lastReply, badDomainAt }) => {
          const attempt = attempts + 1;
          // Never past the end of its life, so that it expires on time.
          const nextAt = Math.max(now + 1, Math.min(retryAt(attempt), expiresAt));
          updateClaimed.run({ id, now, nextAt });
          changes.note(workspaceId, "emails", id);
          const state = { lastReply, badDomainAt };
          return { id, laneId, attempt, startedAt: now, dueAt, nextAt, expiresAt, state };
        });
    },

    findHead: (laneId) => selectHead.get({ laneId }) ?? null,

    /** The final dot of SMTP may be written from now on. */
    markPointOfNoReturn: ({ id, attempt }, now) => updateDot.get({ id, attempt, now }) !== undefined,

    complete({ id, attempt }) {
      const row = deleteRow.get({ id, attempt });
      countRemoved(row);
      return row !== undefined;
    },

    retry({ id, attempt }, { nextAt, state }) {
      const row = updateDeferred.get({ id, attempt, nextAt, ...state });
      countDelayed(row);
      if (row !== undefined) changes.note(row.workspaceId, "emails", id);
      return row !== undefined;
    },

    release({ id, attempt, dueAt }) {
      const row = updateGivenBack.get({ id, attempt, dueAt });
      if (row !== undefined) changes.note(row.workspaceId, "emails", id);
    },

    /** One pass over the covering index. */
    listHeads(): LaneHead[] {
      return orm
        .select({ laneId: emailQueue.laneId, dueAt: sql<number>`${min(emailQueue.nextAt)}` })
        .from(emailQueue)
        .groupBy(emailQueue.laneId)
        .all();
    },

    listInFlight(): InterruptedJob[] {
      const { id, attempts, startedAt, dotAt } = emailQueue;
      return orm
        .select({ id, attempts, startedAt, uncertainSince: dotAt })
        .from(emailQueue)
        .where(sql.raw("in_flight = 1")) // in the words of its index, or that is not used
        .all();
    },

    freeInterrupted({ id, attempts }, nextAt) {
      const next = nextAt === null ? {} : { nextAt: notBeforeSendAt(sql`${nextAt}`) };
      const freed = { inFlight: false, dotAt: null, ...next };
      const isLost = and(eq(emailQueue.id, id), eq(emailQueue.attempts, attempts), eq(emailQueue.inFlight, true));
      const row = orm.update(emailQueue).set(freed).where(isLost).returning().get();
      countDelayed(row);
      return row === undefined ? null : { laneId: row.laneId, dueAt: row.nextAt };
    },

    rescheduleBatch(after, now) {
      const end = findEnd(after, RESCHEDULE_ROWS);
      /** When the wait of a row began. */
      const since = sql`COALESCE(${emailQueue.startedAt}, ${emailQueue.createdAt})`;
      const isInBatch = and(gt(emailQueue.id, after), end === null ? undefined : lte(emailQueue.id, end));
      orm
        .update(emailQueue)
        .set({
          nextAt: notBeforeSendAt(sql`${now} + MAX(0, ${emailQueue.nextAt} - ${since})`),
          startedAt: sql`MIN(${emailQueue.startedAt}, ${now})`,
          badDomainAt: sql`MIN(${emailQueue.badDomainAt}, ${now})`,
        })
        .where(and(isInBatch, gt(emailQueue.nextAt, now), gt(since, now)))
        .run();
      return end;
    },
  } satisfies WorkerQueue<EmailState>;

  return {
    ...queue,

    /** With a `sendAt`, the row is due then, and no earlier. */
    add(row: NewRow): void {
      insertRow.run(row.sendAt === undefined ? { ...row, sendAt: null } : row);
      if ((row.sendAt ?? null) !== null) counts?.changed(row, "scheduled", 1);
    },

    /** Gives a scheduled row another time; its lane and that time, or null when there is no such row, or its first attempt was begun. */
    reschedule(id: number, times: { sendAt: number; expiresAt: number }): LaneHead | null {
      const row = updateSendAt.get({ id, ...times });
      if (row === undefined) return null;
      changes.note(row.workspaceId, "emails", id);
      return { laneId: row.laneId, dueAt: row.dueAt };
    },

    /** Takes a row whose attempt is not running off the queue; its attempts so far, or null when there is none. */
    removeWaiting(id: number): number | null {
      const row = deleteWaiting.get({ id });
      countRemoved(row);
      return row?.attempts ?? null;
    },

    /**
     * Takes a row off the queue whether an attempt at it runs or not; a running one finds it gone at its end. Its attempts,
     * the running one included, or null when there is none.
     */
    remove(id: number): number | null {
      const row = deleteAny.get({ id });
      countRemoved(row);
      return row?.attempts ?? null;
    },

    /**
     * Makes a row that waits for another attempt due now, or a minute after the last one when there were some: the recipient's
     * server would punish a loop of retries. Its lane and time, or null when there is no such row.
     */
    retryNow: (id: number, now: number): LaneHead | null => updateDueNow.get({ id, now }) ?? null,

    /** Makes a batch of the rows of a sending domain due that wait for another attempt; the lane of each. Empty: none is left. */
    makeDomainDue(domain: { workspaceId: number; domainId: number }, now: number, limit: number): number[] {
      const batch = orm
        .select({ id: emailQueue.id })
        .from(emailQueue)
        .where(
          and(
            eq(emailQueue.workspaceId, domain.workspaceId),
            eq(emailQueue.state, "delivery_delayed"),
            eq(emailQueue.domainId, domain.domainId),
            gt(emailQueue.nextAt, now),
          ),
        )
        .limit(limit);
      const made = orm
        .update(emailQueue)
        .set({ nextAt: notBeforeSendAt(sql`${now}`) })
        .where(inArray(emailQueue.id, batch))
        .returning({ laneId: emailQueue.laneId })
        .all();
      return made.map(({ laneId }) => laneId);
    },
  };
}
