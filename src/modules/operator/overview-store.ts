import { and, asc, count, desc, eq, gt, isNotNull, lte, min, or, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { emailQueue, emailTotals, lanes, workspaces } from "../../platform/db/schema/schema.ts";
import { events, webhookJobs, webhooks } from "../../platform/db/schema/events.ts";
import { smsMessages, smsSegments } from "../../platform/db/schema/sms.ts";
import { prepareBatchEnd } from "../../platform/db/batches.ts";
import { fast } from "../../platform/db/statement.ts";

// What the queues hold, for the operator's overviews. Whatever may have a million rows is counted up to a limit,
// or read at its ends.

/** Of a route's texts, or a webhook's calls, so many are counted. */
export const MAX_COUNTED = 100_000;
/** Workspaces with such reports that are named. */
const MAX_REPORTED = 20;
/** Rows at the end of a lane among which the last answer is looked for. */
const LAST_ROWS = 20;

export type OverviewStore = ReturnType<typeof openOverviewStore>;

/** Prepares the statements; nothing is written here. */
export function openOverviewStore({ orm }: Db) {
  const p = sql.placeholder;
  const selectLane = fast(
    orm
      .select({ workspaceId: lanes.workspaceId, destination: lanes.destination })
      .from(lanes)
      .where(eq(lanes.id, p("id"))),
  );
  const selectLast = fast(
    orm
      .select({ lastReply: emailQueue.lastReply, startedAt: emailQueue.startedAt })
      .from(emailQueue)
      .where(eq(emailQueue.laneId, p("laneId")))
      .orderBy(desc(emailQueue.nextAt))
      .limit(LAST_ROWS),
  );
  // As literals: SQLite uses a partial index only where the query says its condition in the same words.
  const isReady = sql.raw("state = 'ready'");
  const selectNextWork = fast(
    orm
      .select({ route: smsSegments.route, priority: smsSegments.priority, workspaceId: smsSegments.workspaceId })
      .from(smsSegments)
      .where(
        and(isReady, sql`(route, priority, workspace_id) > (${p("route")}, ${p("priority")}, ${p("workspaceId")})`),
      )
      .orderBy(asc(smsSegments.route), asc(smsSegments.priority), asc(smsSegments.workspaceId))
      .limit(1),
  );
  const isOfWork = and(
    isReady,
    eq(smsSegments.route, p("route")),
    eq(smsSegments.priority, p("priority")),
    eq(smsSegments.workspaceId, p("workspaceId")),
  );
  const selectFirstSegment = fast(
    orm
      .select({ nextAt: smsSegments.nextAt, providerStatus: smsSegments.providerStatus, reason: smsSegments.reason })
      .from(smsSegments)
      .where(isOfWork)
      .orderBy(asc(smsSegments.nextAt))
      .limit(1),
  );
  const selectText = fast(
    orm
      .select({ at: smsMessages.createdAt })
      .from(smsMessages)
      .where(eq(smsMessages.id, p("id"))),
  );
  const selectNextWebhook = fast(
    orm
      .select({ id: webhookJobs.webhookId })
      .from(webhookJobs)
      .where(gt(webhookJobs.webhookId, p("id")))
      .orderBy(asc(webhookJobs.webhookId))
      .limit(1),
  );
  const selectWebhook = fast(
    orm
      .select({ webhook: webhooks, workspaceUid: workspaces.uid })
      .from(webhooks)
      .leftJoin(workspaces, eq(workspaces.id, webhooks.workspaceId))
      .where(eq(webhooks.id, p("id"))),
  );
  /** How many rows a query has, up to the limit. */
  const upTo = (query: ReturnType<typeof sql>) =>
    orm.values<[number]>(sql`SELECT COUNT(*) FROM (${query} LIMIT ${MAX_COUNTED})`)[0]?.[0] ?? 0;

  const endOfEmails = prepareBatchEnd(orm, emailQueue);
  const countSlice = fast(
    orm
      .select({ laneId: emailQueue.laneId, depth: count(), oldestId: sql<number>`${min(emailQueue.id)}` })
      .from(emailQueue)
      .where(and(gt(emailQueue.id, p("id")), lte(emailQueue.id, p("end"))))
      .groupBy(emailQueue.laneId),
  );

  return {
    /**
     * The next `rows` emails of the queue after an id, by lane; `end`: the last of them, null: there are no more. By id:
     * in the order of the lanes many rows that are due at one time cost each slice a walk over all of them.
     */
    countEmails(id: number, rows: number) {
      const end = endOfEmails(id, rows);
      return { lanes: countSlice.all({ id, end: end ?? Number.MAX_SAFE_INTEGER }), end };
    },
    laneOf: (id: number) => selectLane.get({ id }) ?? null,
    /** The lanes of the emails that are under way, each as often as it has some. */
    runningLanes: (): number[] =>
      orm
        .select({ laneId: emailQueue.laneId })
        .from(emailQueue)
        .where(sql.raw("in_flight = 1"))
        .all()
        .map(({ laneId }) => laneId),
    /** What was said last to emails of a lane that wait for another attempt; null: nothing yet. */
    lastReplyOf(laneId: number): { reply: string; at: number } | null {
      let last: { reply: string; at: number } | null = null;
      for (const { lastReply, startedAt } of selectLast.all({ laneId })) {
        if (lastReply === null || startedAt === null) continue;
        if (last === null || startedAt > last.at) last = { reply: lastReply, at: startedAt };
      }
      return last;
    },

    /** Emails that have come to no end, from the maintained totals. */
    waitingEmails(): { waiting: number; delayed: number } {
      const rows = orm
        .select({ status: emailTotals.status, count: sql<number>`SUM(${emailTotals.count})` })
        .from(emailTotals)
        .where(or(eq(emailTotals.status, "queued"), eq(emailTotals.status, "delivery_delayed")))
        .groupBy(emailTotals.status)
        .all();
      const of = (status: string) => rows.find((row) => row.status === status)?.count ?? 0;
      return { waiting: of("queued") + of("delivery_delayed"), delayed: of("delivery_delayed") };
    },
    /** When the oldest email in the queue was accepted; null: it is empty. */
    oldestEmailAt: (): number | null =>
      orm.select({ at: emailQueue.createdAt }).from(emailQueue).orderBy(asc(emailQueue.id)).limit(1).get()?.at ?? null,

    /** The next work of texts after this one, in the index's order; null: there is none. */
    workAfter: (place: { route: string; priority: string; workspaceId: number }) => selectNextWork.get(place) ?? null,
    /** Its segments up to the limit, and when the oldest of their texts was accepted; null: it has none. */
    countWork({ route, priority, workspaceId }: { route: string; priority: string; workspaceId: number }) {
      const ofWork = sql`${isReady} AND route = ${route} AND priority = ${priority} AND workspace_id = ${workspaceId}`;
      const [found] = orm.values<[number, number | null]>(
        sql`SELECT COUNT(*), MIN(message_id) FROM (SELECT message_id FROM sms_segment WHERE ${ofWork} LIMIT ${MAX_COUNTED})`,
      );
      const [waiting, oldestId] = found ?? [0, null];
      return { waiting, oldestAt: oldestId === null ? null : (selectText.get({ id: oldestId })?.at ?? null) };
    },
    firstOfWork: (work: { route: string; priority: string; workspaceId: number }) => selectFirstSegment.get(work),
    /** Segments that are under way or whose answer was lost, by route. */
    openSegments: (): { route: string; count: number }[] =>
      orm
        .select({ route: smsSegments.route, count: count() })
        .from(smsSegments)
        .where(sql.raw("state IN ('in_flight', 'unknown')"))
        .groupBy(smsSegments.route)
        .all(),
    /** Segments that wait, up to the limit. */
    waitingSegments: (): number => upTo(sql`SELECT 1 FROM sms_segment WHERE ${isReady}`),
    /** When the oldest text that waits was accepted; null: none waits. */
    oldestTextAt: (): number | null => {
      const of = (status: "queued" | "sending") =>
        orm
          .select({ at: min(smsMessages.createdAt) })
          .from(
            orm
              .select({ createdAt: smsMessages.createdAt })
              .from(smsMessages)
              .where(and(sql.raw("is_final = 0"), eq(smsMessages.status, status)))
              // The first to expire are the oldest, but for texts of more haste.
              .orderBy(asc(smsMessages.expiresAt))
              .limit(LAST_ROWS)
              .as("first"),
          )
          .get()?.at ?? null;
      const times = [of("queued"), of("sending")].filter((at) => at !== null);
      return times.length === 0 ? null : Math.min(...times);
    },

    /** The next webhook that has calls to make; null: there is none. */
    webhookAfter: (id: number): number | null => selectNextWebhook.get({ id })?.id ?? null,
    webhookOf: (id: number) => selectWebhook.get({ id }) ?? null,
    countCalls: (webhookId: number): number =>
      upTo(sql`SELECT 1 FROM webhook_job WHERE webhook_id = ${webhookId} AND in_flight = 0`),
    /** Calls that wait, up to the limit. */
    waitingCalls: (): number => upTo(sql`SELECT 1 FROM webhook_job`),
    /** When the event of the oldest call happened; null: no call waits. */
    oldestCallAt: (): number | null =>
      orm
        .select({ at: events.createdAt })
        .from(webhookJobs)
        .innerJoin(events, eq(events.id, webhookJobs.eventId))
        .orderBy(asc(webhookJobs.id))
        .limit(1)
        .get()?.at ?? null,

    /** Workspaces that would be blocked since `from` if all that was reported by mail were true. */
    reportWarnings: (from: number) =>
      orm
        .select({
          uid: workspaces.uid,
          name: workspaces.name,
          at: workspaces.reportsWarnedAt,
          reason: workspaces.reportsWarning,
        })
        .from(workspaces)
        .where(
          and(
            sql`${workspaces.deletedAt} IS NULL`,
            sql`${workspaces.rateBlockedAt} IS NULL`,
            gt(workspaces.reportsWarnedAt, from),
          ),
        )
        .limit(MAX_REPORTED)
        .all(),

    /** Workspaces that may not send, the block's kind first; deleted ones left out. */
    stopped: () =>
      orm
        .select({
          uid: workspaces.uid,
          name: workspaces.name,
          isHeld: workspaces.isHeld,
          blockedAt: workspaces.blockedAt,
          blockReason: workspaces.blockReason,
          rateBlockedAt: workspaces.rateBlockedAt,
          rateBlockReason: workspaces.rateBlockReason,
        })
        .from(workspaces)
        .where(
          and(
            sql`${workspaces.deletedAt} IS NULL`,
            or(isNotNull(workspaces.blockedAt), isNotNull(workspaces.rateBlockedAt)),
          ),
        )
        .all(),
  };
}
