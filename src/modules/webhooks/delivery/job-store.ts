// The queue of the webhook calls; a lane is a webhook. Calls are made at least once: one that a crash cut off is made
// again, with the same event's id. So no attempt is ever uncertain, and the queue has no point of no return.
//
// A call may be requested once more while it is under way. The row keeps that in `again`, and is due from the moment of
// the request: the end of the call leaves the row, and endCall() decides what becomes of it.

import { and, asc, eq, gt, isNull, lte, min, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { events, webhookJobs, webhooks } from "../../../platform/db/schema/schema.ts";
import { prepareBatchEnd, removeBatch } from "../../../platform/db/batches.ts";
import { prepare } from "../../../platform/db/statement.ts";
import type { InterruptedJob, Job, LaneHead, WorkerQueue } from "../../../platform/queue/job.ts";

/** Rows that one transaction reschedules. */
const RESCHEDULE_ROWS = 2_000;

/** What is requested beside a call that is under way: another one in any case, or only if it fails. */
export type RepeatRequest = "always" | "on_failure";

export type WebhookJobStore = ReturnType<typeof openWebhookJobStore>;

/** Prepares the statements of the calls still to be made. */
export function openWebhookJobStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  // A row that was freed is no longer this attempt's, though it has its number.
  const isThisAttempt = and(
    eq(webhookJobs.id, p("id")),
    eq(webhookJobs.attempts, p("attempt")),
    eq(webhookJobs.inFlight, true),
  );
  const insert = prepare(
    orm
      .insert(webhookJobs)
      .values({ webhookId: p("webhookId"), eventId: p("eventId"), nextAt: p("nextAt") })
      // Requested again while it waits: now, from the beginning of the schedule. While its call is under way: after that.
      .onConflictDoUpdate({
        target: [webhookJobs.webhookId, webhookJobs.eventId],
        set: {
          nextAt: sql`MIN(${webhookJobs.nextAt}, excluded.next_at)`,
          attempts: sql`CASE WHEN in_flight = 1 THEN ${webhookJobs.attempts} ELSE 0 END`,
          again: sql`CASE WHEN in_flight = 0 OR ${webhookJobs.again} = 'always' THEN ${webhookJobs.again} ELSE ${p("again")} END`,
        },
      }),
  );
  const selectDue = prepare(
    orm
      .select()
      .from(webhookJobs)
      .where(
        and(eq(webhookJobs.webhookId, p("laneId")), lte(webhookJobs.nextAt, p("now")), eq(webhookJobs.inFlight, false)),
      )
      .orderBy(asc(webhookJobs.nextAt), asc(webhookJobs.id))
      .limit(p("limit")),
  );
  const updateClaimed = prepare(
    orm
      .update(webhookJobs)
      .set({
        attempts: sql`${p("attempt")}`,
        inFlight: true,
        startedAt: sql`${p("now")}`,
        nextAt: sql`${p("nextAt")}`,
        again: null,
      })
      .where(eq(webhookJobs.id, p("id"))),
  );
  const selectHead = prepare(
    orm
      .select({ dueAt: webhookJobs.nextAt })
      .from(webhookJobs)
      .where(and(eq(webhookJobs.webhookId, p("laneId")), eq(webhookJobs.inFlight, false)))
      .orderBy(asc(webhookJobs.nextAt))
      .limit(1),
  );
  const removeUnlessAgain = prepare(
    orm
      .delete(webhookJobs)
      .where(and(isThisAttempt, isNull(webhookJobs.again)))
      .returning({ id: webhookJobs.id }),
  );
  const updateDeferred = prepare(
    orm
      .update(webhookJobs)
      .set({
        nextAt: sql`CASE WHEN ${webhookJobs.again} IS NULL THEN ${p("nextAt")} ELSE ${webhookJobs.nextAt} END`,
        inFlight: false,
      })
      .where(isThisAttempt)
      .returning({ id: webhookJobs.id }),
  );
  const updateGivenBack = prepare(
    orm
      .update(webhookJobs)
      .set({ nextAt: sql`${p("dueAt")}`, attempts: sql`${webhookJobs.attempts} - 1`, inFlight: false })
      .where(isThisAttempt),
  );
  const selectEnded = prepare(
    orm
      .select({ nextAt: webhookJobs.nextAt, again: webhookJobs.again })
      .from(webhookJobs)
      .where(eq(webhookJobs.id, p("id"))),
  );
  const updateAfresh = prepare(
    orm
      .update(webhookJobs)
      .set({ attempts: 0, again: null })
      .where(eq(webhookJobs.id, p("id"))),
  );
  const remove = prepare(orm.delete(webhookJobs).where(eq(webhookJobs.id, p("id"))));
  const removeWaiting = prepare(
    orm
      .delete(webhookJobs)
      .where(and(eq(webhookJobs.id, p("id")), eq(webhookJobs.inFlight, false)))
      .returning({ attempts: webhookJobs.attempts }),
  );
  const updateDueNow = prepare(
    orm
      .update(webhookJobs)
      .set({ nextAt: sql`${p("now")}` })
      .where(and(eq(webhookJobs.id, p("id")), eq(webhookJobs.inFlight, false), gt(webhookJobs.nextAt, p("now"))))
      .returning({ webhookId: webhookJobs.webhookId }),
  );
  const selectWorkspace = prepare(
    orm
      .select({ workspaceId: webhooks.workspaceId })
      .from(webhooks)
      .where(eq(webhooks.id, p("id"))),
  );
  const selectCall = prepare(
    orm
      .select({ webhook: webhooks, event: events })
      .from(webhookJobs)
      .innerJoin(webhooks, eq(webhooks.id, webhookJobs.webhookId))
      .innerJoin(events, eq(events.id, webhookJobs.eventId))
      .where(eq(webhookJobs.id, p("id"))),
  );

  const findEnd = prepareBatchEnd(orm, webhookJobs);

  const queue: WorkerQueue<null> = {
    findWorkspace: (laneId) => selectWorkspace.get({ id: laneId })?.workspaceId ?? 0,
    claim({ laneId, now, limit, retryAt }): Job<null>[] {
      return selectDue.all({ laneId, now, limit }).map((row) => {
        // A call that was cut off, or released, after another was requested: this is the other one.
        const attempt = row.again === null ? row.attempts + 1 : 1;
        const nextAt = Math.max(now + 1, retryAt(attempt));
        updateClaimed.run({ id: row.id, attempt, now, nextAt });
        const times = { startedAt: now, dueAt: row.nextAt, nextAt, expiresAt: Infinity };
        return { id: row.id, laneId, attempt, ...times, state: null };
      });
    },
    findHead(laneId) {
      const head = selectHead.get({ laneId });
      // A call ends with its schedule.
      return head === undefined ? null : { dueAt: head.dueAt, expiresAt: Infinity };
    },
    // One that is requested again waits from now on like one that is retried.
    complete: ({ id, attempt }) =>
      removeUnlessAgain.get({ id, attempt }) !== undefined ||
      updateDeferred.get({ id, attempt, nextAt: 0 }) !== undefined,
    retry: ({ id, attempt }, { nextAt }) => updateDeferred.get({ id, attempt, nextAt }) !== undefined,
    release: ({ id, attempt, dueAt }) => void updateGivenBack.run({ id, attempt, dueAt }),
    listHeads: (): LaneHead[] =>
      orm
        .select({ laneId: webhookJobs.webhookId, dueAt: sql<number>`${min(webhookJobs.nextAt)}` })
        .from(webhookJobs)
        .groupBy(webhookJobs.webhookId)
        .all(),
    listInFlight: (): InterruptedJob[] =>
      orm
        .select({ id: webhookJobs.id, attempts: webhookJobs.attempts, startedAt: webhookJobs.startedAt })
        .from(webhookJobs)
        .where(sql.raw("in_flight = 1")) // in the words of its index, or that is not used
        .all(),
    freeInterrupted({ id, attempts }, nextAt) {
      const freed = orm
        .update(webhookJobs)
        .set({
          inFlight: false,
          // Due since its event: the events of a resource keep their order, and the waiting ones come behind it.
          ...(nextAt === null
            ? {}
            : {
                nextAt: sql`MIN(${nextAt}, COALESCE((SELECT created_at FROM event WHERE event.id = event_id), ${nextAt}))`,
              }),
        })
        .where(and(eq(webhookJobs.id, id), eq(webhookJobs.attempts, attempts), eq(webhookJobs.inFlight, true)))
        .returning({ laneId: webhookJobs.webhookId, dueAt: webhookJobs.nextAt })
        .get();
      return freed ?? null;
    },
    rescheduleBatch(after, now) {
      const end = findEnd(after, RESCHEDULE_ROWS);
      const eventAt = sql`SELECT ${events.createdAt} FROM ${events} WHERE ${events.id} = ${webhookJobs.eventId}`;
      /** When the wait of a call began: with the call before it, or with its event. */
      const since = sql`COALESCE(${webhookJobs.startedAt}, (${eventAt}), 0)`;
      const isInBatch = and(gt(webhookJobs.id, after), end === null ? undefined : lte(webhookJobs.id, end));
      orm
        .update(webhookJobs)
        .set({
          nextAt: sql`${now} + MAX(0, ${webhookJobs.nextAt} - ${since})`,
          startedAt: sql`MIN(${webhookJobs.startedAt}, ${now})`,
        })
        .where(and(isInBatch, gt(webhookJobs.nextAt, now), gt(since, now)))
        .run();
      return end;
    },
  };

  return {
    queue,
    /**
     * Queues a call; one that waits already is due by `nextAt`, with all its attempts. While one is under way, `again` says
     * whether another one follows it.
     */
    add(call: { webhookId: number; eventId: number; nextAt: number; again: RepeatRequest }): void {
      insert.run({ ...call });
    },
    /**
     * Inside the transaction that ends a call, once its row was completed or retried. When the next call is due, one that was
     * requested meanwhile included; null: no more follow.
     */
    endCall(id: number, isDelivered: boolean): number | null {
      const row = selectEnded.get({ id });
      if (row === undefined) return null;
      if (row.again === null) return row.nextAt;
      if (isDelivered && row.again === "on_failure") {
        remove.run({ id });
        return null;
      }
      updateAfresh.run({ id });
      return row.nextAt;
    },
    /** The webhook and the event of a call; undefined: one of them is gone. */
    findCall: (id: number) => selectCall.get({ id }),
    /** Takes a call that is not under way off the queue; the attempts so far, or null when there is no such call. */
    removeWaiting: (id: number): number | null => removeWaiting.get({ id })?.attempts ?? null,
    /** Makes a waiting call due now, with the attempts it has; its webhook, or null when no such call waits for a later time. */
    retryNow: (id: number, now: number): number | null => updateDueNow.get({ id, now })?.webhookId ?? null,
    /** Takes a batch of a webhook's calls off the queue, running ones included; true when there may be more. */
    removeBatch: (webhookId: number, limit: number): boolean =>
      removeBatch(orm, webhookJobs, eq(webhookJobs.webhookId, webhookId), limit),
  };
}
