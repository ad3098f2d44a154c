import { and, asc, eq, gt, inArray, lte, min, count, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { fast } from "../db/statement.ts";
import { emailQueue, lanes } from "../db/schema.ts";
import type { Deferral, InterruptedJob, Job, LaneHead, NewRow, QueueCounts, RowOwner } from "./job.ts";

// The queue's rows. Claiming a row counts the attempt and postpones the row to its next attempt, in
// a committed transaction, before anything is connected: there are no leases, and a crash costs one
// attempt's delay. A row whose attempt runs has in_flight = 1 and is not claimed again, however long
// the attempt takes. Everything that ends an attempt is fenced by its number.
//
// A row is delayed once an attempt at it has ended and left it there: its attempts, less the one that
// runs, are above 0. The begin of an attempt changes nothing of that, so that what is delivered at its
// first one, as most is, never counts as delayed.

/** After so many attempts a retry by hand comes no sooner than this after the last one. */
const FREE_RETRIES = 5;
const RETRY_PAUSE_MS = 60_000;

/** Lanes whose ids are remembered. */
const MAX_REMEMBERED_LANES = 20_000;

export type QueueStore = ReturnType<typeof openQueueStore>;

/** What the worker needs of a queue: the emails' or another whose rows are claimed as these are. */
export type WorkerQueue = Pick<
  QueueStore,
  "workspaceOf" | "claim" | "headOf" | "markDot" | "finish" | "defer" | "giveBack" | "heads" | "inFlight" | "release"
>;

/** Prepares the statements of the queue; `counts` is told of every row that comes to be delayed or ceases to be. */
export function openQueueStore(db: Db, counts: QueueCounts | null = null) {
  const { orm } = db;
  const p = sql.placeholder;
  const isThisAttempt = and(eq(emailQueue.id, p("id")), eq(emailQueue.attempts, p("attempt")));
  const standing = {
    workspaceId: emailQueue.workspaceId,
    domainId: emailQueue.domainId,
    attempts: emailQueue.attempts,
    inFlight: emailQueue.inFlight,
  };

  const selectLane = fast(
    orm
      .select({ id: lanes.id })
      .from(lanes)
      .where(and(eq(lanes.workspaceId, p("workspaceId")), eq(lanes.destination, p("destination")))),
  );
  const insertLane = fast(
    orm
      .insert(lanes)
      .values({ workspaceId: p("workspaceId"), destination: p("destination") })
      .returning({ id: lanes.id }),
  );
  const selectWorkspace = fast(
    orm
      .select({ workspaceId: lanes.workspaceId })
      .from(lanes)
      .where(eq(lanes.id, p("id"))),
  );
  const insertRow = fast(
    orm.insert(emailQueue).values({
      id: p("id"),
      laneId: p("laneId"),
      workspaceId: p("workspaceId"),
      domainId: p("domainId"),
      createdAt: p("createdAt"),
      nextAt: p("nextAt"),
      expiresAt: p("expiresAt"),
    }),
  );
  const selectDue = fast(
    orm
      .select()
      .from(emailQueue)
      .where(and(eq(emailQueue.laneId, p("laneId")), lte(emailQueue.nextAt, p("now")), eq(emailQueue.inFlight, false)))
      .orderBy(asc(emailQueue.nextAt), asc(emailQueue.id))
      .limit(p("limit")),
  );
  const updateClaimed = fast(
    orm
      .update(emailQueue)
      .set({
        attempts: sql`${emailQueue.attempts} + 1`,
        inFlight: true,
        startedAt: sql`${p("now")}`,
        nextAt: sql`${p("nextAt")}`,
        dotAt: null,
      })
      .where(eq(emailQueue.id, p("id"))),
  );
  const selectHead = fast(
    orm
      .select({ dueAt: emailQueue.nextAt, expiresAt: emailQueue.expiresAt })
      .from(emailQueue)
      .where(and(eq(emailQueue.laneId, p("laneId")), eq(emailQueue.inFlight, false)))
      .orderBy(asc(emailQueue.nextAt))
      .limit(1),
  );
  const updateDot = fast(
    orm
      .update(emailQueue)
      .set({ dotAt: sql`${p("now")}` })
      .where(isThisAttempt)
      .returning({ id: emailQueue.id }),
  );
  const deleteRow = fast(orm.delete(emailQueue).where(isThisAttempt).returning(standing));
  const updateDeferred = fast(
    orm
      .update(emailQueue)
      .set({
        nextAt: sql`${p("nextAt")}`,
        lastReply: sql`${p("lastReply")}`,
        badDomainAt: sql`${p("badDomainAt")}`,
        inFlight: false,
        dotAt: null,
      })
      .where(isThisAttempt)
      .returning({ id: emailQueue.id }),
  );
  const updateGivenBack = fast(
    orm
      .update(emailQueue)
      .set({ nextAt: sql`${p("dueAt")}`, attempts: sql`${emailQueue.attempts} - 1`, inFlight: false, dotAt: null })
      .where(isThisAttempt),
  );
  const selectStanding = fast(
    orm
      .select(standing)
      .from(emailQueue)
      .where(eq(emailQueue.id, p("id"))),
  );
  const deleteWaiting = fast(
    orm
      .delete(emailQueue)
      .where(and(eq(emailQueue.id, p("id")), eq(emailQueue.inFlight, false)))
      .returning(standing),
  );
  const deleteAny = fast(
    orm
      .delete(emailQueue)
      .where(eq(emailQueue.id, p("id")))
      .returning(standing),
  );
  const updateDueNow = fast(
    orm
      .update(emailQueue)
      // A row that is due already keeps its place among its lane's.
      .set({
        nextAt: sql`MIN(${emailQueue.nextAt}, CASE WHEN ${emailQueue.attempts} > ${FREE_RETRIES}
          THEN MAX(${p("now")}, ${emailQueue.startedAt} + ${RETRY_PAUSE_MS}) ELSE ${p("now")} END)`,
      })
      .where(and(eq(emailQueue.id, p("id")), eq(emailQueue.inFlight, false), gt(emailQueue.attempts, 0)))
      .returning({ laneId: emailQueue.laneId, dueAt: emailQueue.nextAt }),
  );

  /** Takes note of a row that is gone. */
  function gone(row: Standing): void {
    if (isDelayed(row)) counts?.delayed(row, -1);
  }

  /** Makes a change to a row that stays, and tells whether it made the row a delayed one, or one no more. */
  function changing<T>(id: number, change: () => T): T {
    if (counts === null) return change();
    const before = selectStanding.get({ id });
    const result = change();
    const after = selectStanding.get({ id });
    if (before === undefined || after === undefined || isDelayed(before) === isDelayed(after)) return result;
    counts.delayed(after, isDelayed(after) ? 1 : -1);
    return result;
  }

  // Of lanes that are known to be committed: they are removed with their workspace only.
  const laneIds = new Map<string, number>();

  return {
    /** The lane of (workspace, destination), made when it is new. */
    laneFor(workspaceId: number, destination: string): number {
      const key = { workspaceId, destination };
      const name = `${workspaceId} ${destination}`;
      const known = laneIds.get(name);
      if (known !== undefined) return known;
      const found = selectLane.get(key);
      return found?.id ?? insertLane.get(key).id;
    },
    /** The lane exists durably: laneFor need not look it up again. */
    rememberLane(workspaceId: number, destination: string, laneId: number): void {
      if (laneIds.size >= MAX_REMEMBERED_LANES) laneIds.clear();
      laneIds.set(`${workspaceId} ${destination}`, laneId);
    },

    /** The workspace was deleted, and its lanes removed. */
    forgetLanesOf(workspaceId: number): void {
      for (const name of laneIds.keys()) if (name.startsWith(`${workspaceId} `)) laneIds.delete(name);
    },

    /** Whose lane it is. */
    workspaceOf: (laneId: number): number => selectWorkspace.get({ id: laneId })?.workspaceId ?? 0,

    /** Queues the email `id`. */
    add(row: NewRow): void {
      insertRow.run(row);
    },

    /** Claims up to `limit` due rows of a lane; `retryAt` says when attempt n would be followed by the next. */
    claim(request: { laneId: number; now: number; limit: number; retryAt: (attempt: number) => number }): Job[] {
      const rows = selectDue.all({ laneId: request.laneId, now: request.now, limit: request.limit });
      return rows.map((row) => {
        const attempt = row.attempts + 1;
        // Never past the end of its life, so that it expires on time.
        const nextAt = Math.max(request.now + 1, Math.min(request.retryAt(attempt), row.expiresAt));
        updateClaimed.run({ id: row.id, now: request.now, nextAt });
        const { id, laneId, expiresAt, lastReply, badDomainAt } = row;
        return {
          id,
          laneId,
          attempt,
          startedAt: request.now,
          dueAt: row.nextAt,
          nextAt,
          expiresAt,
          lastReply,
          badDomainAt,
        };
      });
    },

    /** When the lane's next row is due and when it expires; null when it has none that waits. */
    headOf(laneId: number): { dueAt: number; expiresAt: number } | null {
      return selectHead.get({ laneId }) ?? null;
    },

    /** Notes that the final dot may be written from now on. False: the row is no longer this attempt's. */
    markDot(job: { id: number; attempt: number }, now: number): boolean {
      return updateDot.get({ id: job.id, attempt: job.attempt, now }) !== undefined;
    },

    /** Takes the row off the queue. False: it is no longer this attempt's. */
    finish(job: { id: number; attempt: number }): boolean {
      const row = deleteRow.get({ id: job.id, attempt: job.attempt });
      if (row !== undefined) gone(row);
      return row !== undefined;
    },

    /** Puts the row back for its next attempt. False: it is no longer this attempt's. */
    defer(job: { id: number; attempt: number }, deferral: Deferral): boolean {
      const update = { id: job.id, attempt: job.attempt, ...deferral };
      return changing(job.id, () => updateDeferred.get(update)) !== undefined;
    },

    /** Undoes the claim of an attempt that was never begun. */
    giveBack(job: Job): void {
      changing(job.id, () => updateGivenBack.run({ id: job.id, attempt: job.attempt, dueAt: job.dueAt }));
    },

    /** Takes a row whose attempt is not running off the queue; its attempts so far, or null when there is none. */
    removeWaiting(id: number): number | null {
      const row = deleteWaiting.get({ id });
      if (row !== undefined) gone(row);
      return row?.attempts ?? null;
    },

    /**
     * Takes a row off the queue whether an attempt at it runs or not: that one's end finds it gone. Its attempts, the
     * running one included, or null when there is none.
     */
    remove(id: number): number | null {
      const row = deleteAny.get({ id });
      if (row !== undefined) gone(row);
      return row?.attempts ?? null;
    },

    /**
     * Makes a row that waits for another attempt due now, or a minute after the last one when there were some:
     * a loop of retries would be punished by the recipient's server. Its lane and time, or null when there is no such row.
     */
    retryNow(id: number, now: number): { laneId: number; dueAt: number } | null {
      return updateDueNow.get({ id, now }) ?? null;
    },

    /**
     * Makes a share of the rows of a sending domain due now that wait for another attempt; the lane of each.
     * Empty: none is left that is due later.
     */
    hastenDomain(domain: { workspaceId: number; domainId: number }, now: number, limit: number): number[] {
      const share = orm
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
      const hastened = orm
        .update(emailQueue)
        .set({ nextAt: now })
        .where(inArray(emailQueue.id, share))
        .returning({ laneId: emailQueue.laneId })
        .all();
      return hastened.map(({ laneId }) => laneId);
    },

    isQueued(id: number): boolean {
      return selectStanding.get({ id }) !== undefined;
    },

    /** Every lane with waiting rows and when its first one is due: one pass over the covering index. */
    heads(): LaneHead[] {
      return orm
        .select({ laneId: emailQueue.laneId, dueAt: sql<number>`${min(emailQueue.nextAt)}` })
        .from(emailQueue)
        .groupBy(emailQueue.laneId)
        .all();
    },

    inFlight(): InterruptedJob[] {
      return orm
        .select({
          id: emailQueue.id,
          attempts: emailQueue.attempts,
          startedAt: emailQueue.startedAt,
          dotAt: emailQueue.dotAt,
        })
        .from(emailQueue)
        .where(sql.raw("in_flight = 1")) // in the words of its index, or that is not used
        .all();
    },

    /** Frees a row that a crash left in flight; `nextAt` null keeps the time its claim has set. */
    release(id: number, nextAt: number | null): void {
      const freed = { inFlight: false, dotAt: null, ...(nextAt === null ? {} : { nextAt }) };
      changing(id, () => orm.update(emailQueue).set(freed).where(eq(emailQueue.id, id)).run());
    },

    /** Rows still to be done, in flight or waiting. */
    depth(): number {
      return orm.select({ depth: count() }).from(emailQueue).where(gt(emailQueue.id, 0)).get()?.depth ?? 0;
    },
  };
}

/** What tells whether a row is delayed. */
interface Standing extends RowOwner {
  attempts: number;
  inFlight: boolean;
}

function isDelayed({ attempts, inFlight }: Standing): boolean {
  return attempts > (inFlight ? 1 : 0);
}
