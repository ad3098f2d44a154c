import { and, asc, count, desc, eq, gt, gte, inArray, lt, lte, min, or, type SQL, sql } from "drizzle-orm";
import { prepareBatchEnd, lastId } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import { emailQueue, emails, emailTotals, lanes, workspaces } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { type MessageCandidate, walkById } from "../../../platform/queue/queue-admin.ts";

// What the operator reads of the email queue. It may have a million rows: it is walked in slices, or read at its ends.

/** Rows at the end of a lane among which the last reply is looked for. */
const LAST_ROWS = 20;
/** Sorts after every character that an id may have. */
const PAST_HEX = "g";

export type EmailAdminStore = ReturnType<typeof openEmailAdminStore>;

/** Prepares the statements; nothing is written here. */
export function openEmailAdminStore({ orm }: Db) {
  const p = sql.placeholder;
  const isOrAny = (name: string, holds: SQL | undefined) => sql`(${p(name)} IS NULL OR ${holds})`;
  const ofDestination = orm
    .select({ id: lanes.id })
    .from(lanes)
    .where(eq(lanes.destination, p("destination")));
  const selectMatching = prepare(
    orm
      .select({ id: emailQueue.id, isRunning: emailQueue.inFlight })
      .from(emailQueue)
      .where(
        and(
          gt(emailQueue.id, p("id")),
          lte(emailQueue.id, p("end")),
          isOrAny("workspaceId", eq(emailQueue.workspaceId, p("workspaceId"))),
          isOrAny("before", lt(emailQueue.createdAt, p("before"))),
          isOrAny("destination", inArray(emailQueue.laneId, ofDestination)),
          isOrAny(
            "address",
            sql`EXISTS (SELECT 1 FROM email WHERE email.id = ${emailQueue.id} AND email.recipient_address = ${p("address")})`,
          ),
        ),
      )
      .orderBy(asc(emailQueue.id)),
  );
  const selectLane = prepare(
    orm
      .select({ workspaceId: lanes.workspaceId, destination: lanes.destination })
      .from(lanes)
      .where(eq(lanes.id, p("id"))),
  );
  const selectLast = prepare(
    orm
      .select({ lastReply: emailQueue.lastReply, startedAt: emailQueue.startedAt })
      .from(emailQueue)
      .where(eq(emailQueue.laneId, p("laneId")))
      .orderBy(desc(emailQueue.nextAt))
      .limit(LAST_ROWS),
  );
  const selectCreatedAt = prepare(
    orm
      .select({ createdAt: emails.createdAt })
      .from(emails)
      .where(eq(emails.id, p("id"))),
  );
  const endOfSlice = prepareBatchEnd(orm, emailQueue);
  const countSlice = prepare(
    orm
      .select({ laneId: emailQueue.laneId, depth: count(), oldestId: sql<number>`${min(emailQueue.id)}` })
      .from(emailQueue)
      .where(and(gt(emailQueue.id, p("id")), lte(emailQueue.id, p("end"))))
      .groupBy(emailQueue.laneId),
  );
  const candidate = {
    uid: emails.uid,
    workspaceId: emails.workspaceId,
    from: emails.sender,
    to: emails.recipient,
    status: emails.status,
    createdAt: emails.createdAt,
  };

  return {
    list: walkById(endOfSlice, (range) => selectMatching.all({ ...range })),
    lastId: () => lastId(orm, emailQueue),

    /**
     * The next `rows` emails of the queue after an id, by lane; `end`: the last of them, null: there are no more. By id:
     * in the order of the lanes many rows that are due at one time cost each slice a walk over all of them.
     */
    countSlice(id: number, rows: number) {
      const end = endOfSlice(id, rows);
      return { lanes: countSlice.all({ id, end: end ?? Number.MAX_SAFE_INTEGER }), end };
    },
    lane: (id: number) => selectLane.get({ id }) ?? null,
    /** The lanes of the emails that are being delivered, each as often as it has some. */
    runningLanes: (): number[] =>
      orm
        .select({ laneId: emailQueue.laneId })
        .from(emailQueue)
        .where(sql.raw("in_flight = 1")) // in the words of its index, or that is not used
        .all()
        .map(({ laneId }) => laneId),
    /** The last reply to emails of a lane that wait for another attempt; null: none yet. */
    lastReply(laneId: number): { reply: string; at: number } | null {
      let last: { reply: string; at: number } | null = null;
      for (const { lastReply, startedAt } of selectLast.all({ laneId })) {
        if (lastReply === null || startedAt === null) continue;
        if (last === null || startedAt > last.at) last = { reply: lastReply, at: startedAt };
      }
      return last;
    },
    /** When an email was accepted, Unix ms; null: it is gone. */
    acceptedAt: (id: number): number | null => selectCreatedAt.get({ id })?.createdAt ?? null,

    /** Emails that have not ended, from the maintained totals. */
    waiting(): { waiting: number; delayed: number } {
      const rows = orm
        .select({ status: emailTotals.status, count: sql<number>`SUM(${emailTotals.count})` })
        .from(emailTotals)
        .where(or(eq(emailTotals.status, "queued"), eq(emailTotals.status, "delivery_delayed")))
        .groupBy(emailTotals.status)
        .all();
      const total = (status: string) => rows.find((row) => row.status === status)?.count ?? 0;
      return { waiting: total("queued") + total("delivery_delayed"), delayed: total("delivery_delayed") };
    },
    /** When the oldest email in the queue was accepted; null: it is empty. */
    oldestAt: (): number | null =>
      orm.select({ at: emailQueue.createdAt }).from(emailQueue).orderBy(asc(emailQueue.id)).limit(1).get()?.at ?? null,

    /** An email by its id, whoever sent it, and its row of the queue, if any. */
    find: (uid: string) =>
      orm
        .select({ id: emails.id, queue: { id: emailQueue.id, isRunning: emailQueue.inFlight } })
        .from(emails)
        .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
        .where(eq(emails.uid, uid))
        .get() ?? null,
    waitingEmails: (ids: number[]) =>
      orm
        .select({ email: emails, queue: emailQueue, workspaceUid: workspaces.uid })
        .from(emailQueue)
        .innerJoin(emails, eq(emails.id, emailQueue.id))
        .leftJoin(workspaces, eq(workspaces.id, emailQueue.workspaceId))
        .where(inArray(emailQueue.id, ids))
        .orderBy(asc(emailQueue.id))
        .all(),

    byIdPrefix: (prefix: string, limit: number): MessageCandidate[] =>
      orm
        .select(candidate)
        .from(emails)
        .where(and(gte(emails.uid, prefix), lt(emails.uid, prefix + PAST_HEX)))
        .orderBy(desc(emails.uid))
        .limit(limit)
        .all(),
    /** A workspace's emails to an address, the newest first: the index begins with the workspace. */
    byRecipient: (workspaceId: number, address: string, limit: number): MessageCandidate[] =>
      orm
        .select(candidate)
        .from(emails)
        .where(and(eq(emails.workspaceId, workspaceId), eq(emails.recipientAddress, address)))
        .orderBy(desc(emails.createdAt), desc(emails.id))
        .limit(limit)
        .all(),
    workspaceIds: (): number[] =>
      orm
        .select({ id: workspaces.id })
        .from(workspaces)
        .all()
        .map(({ id }) => id),
  };
}
