import { and, asc, eq, gt, lte, min, count, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { fast } from "../../../platform/db/statement.ts";
import { emailQueue } from "../../../platform/db/schema/schema.ts";
import { openBringNear } from "./bring-near-store.ts";
import { followDelayed, STANDING } from "./delayed-store.ts";
import { openHastening } from "./make-due-store.ts";
import type { Deferral, InterruptedJob, Job, LaneHead, NewRow, QueueCounts } from "../../../platform/queue/job.ts";
import { openLaneIds } from "./lane-store.ts";

// The queue's rows. Claiming a row counts the attempt and postpones the row to its next attempt, in
// a committed transaction, before anything is connected: there are no leases, and a crash costs one
// attempt's delay. A row whose attempt runs has in_flight = 1 and is not claimed again, however long
// the attempt takes. Everything that ends an attempt is fenced by its number.

export type QueueStore = ReturnType<typeof openQueueStore>;

/** Prepares the statements of the queue; `counts` is told of every row that comes to be delayed or ceases to be. */
export function openQueueStore(db: Db, counts: QueueCounts | null = null) {
  const { orm } = db;
  const p = sql.placeholder;
  const delayed = followDelayed(orm, counts);
  const isThisAttempt = and(eq(emailQueue.id, p("id")), eq(emailQueue.attempts, p("attempt")));
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
  const deleteRow = fast(orm.delete(emailQueue).where(isThisAttempt).returning(STANDING));
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
  const deleteWaiting = fast(
    orm
      .delete(emailQueue)
      .where(and(eq(emailQueue.id, p("id")), eq(emailQueue.inFlight, false)))
      .returning(STANDING),
  );
  const deleteAny = fast(
    orm
      .delete(emailQueue)
      .where(eq(emailQueue.id, p("id")))
      .returning(STANDING),
  );
  return {
    ...openLaneIds(orm),
    ...openHastening(orm),
    ...openBringNear(orm),

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
    markPointOfNoReturn(job: { id: number; attempt: number }, now: number): boolean {
      return updateDot.get({ id: job.id, attempt: job.attempt, now }) !== undefined;
    },

    /** Takes the row off the queue. False: it is no longer this attempt's. */
    complete(job: { id: number; attempt: number }): boolean {
      const row = deleteRow.get({ id: job.id, attempt: job.attempt });
      if (row !== undefined) delayed.gone(row);
      return row !== undefined;
    },

    /** Puts the row back for its next attempt. False: it is no longer this attempt's. */
    retry(job: { id: number; attempt: number }, deferral: Deferral): boolean {
      const update = { id: job.id, attempt: job.attempt, ...deferral };
      return delayed.changing(job.id, () => updateDeferred.get(update)) !== undefined;
    },

    /** Undoes the claim of an attempt that was never begun. */
    release(job: Job): void {
      delayed.changing(job.id, () => updateGivenBack.run({ id: job.id, attempt: job.attempt, dueAt: job.dueAt }));
    },

    /** Takes a row whose attempt is not running off the queue; its attempts so far, or null when there is none. */
    removeWaiting(id: number): number | null {
      const row = deleteWaiting.get({ id });
      if (row !== undefined) delayed.gone(row);
      return row?.attempts ?? null;
    },

    /**
     * Takes a row off the queue whether an attempt at it runs or not: that one's end finds it gone. Its attempts, the
     * running one included, or null when there is none.
     */
    remove(id: number): number | null {
      const row = deleteAny.get({ id });
      if (row !== undefined) delayed.gone(row);
      return row?.attempts ?? null;
    },

    isQueued: (id: number): boolean => delayed.standingOf(id) !== undefined,

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

    /**
     * Frees a row that a crash left in flight; `nextAt` null keeps the time its claim has set. Where and when it waits;
     * null: it was freed before, is another attempt's by now, or gone.
     */
    freeInterrupted({ id, attempts }: Pick<InterruptedJob, "id" | "attempts">, nextAt: number | null): LaneHead | null {
      const freed = { inFlight: false, dotAt: null, ...(nextAt === null ? {} : { nextAt }) };
      const isLost = and(eq(emailQueue.id, id), eq(emailQueue.attempts, attempts), eq(emailQueue.inFlight, true));
      const waiting = { laneId: emailQueue.laneId, dueAt: emailQueue.nextAt };
      return (
        delayed.changing(id, () => orm.update(emailQueue).set(freed).where(isLost).returning(waiting).get()) ?? null
      );
    },

    /** Rows still to be done, in flight or waiting. */
    depth(): number {
      return orm.select({ depth: count() }).from(emailQueue).where(gt(emailQueue.id, 0)).get()?.depth ?? 0;
    },
  };
}
