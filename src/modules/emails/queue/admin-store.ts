// The operator's queries on the email queue. It may have a million rows, so they walk it in slices or read its ends.

import { and, asc, count, desc, eq, gt, gte, inArray, lt, lte, or, type SQL, sql } from "drizzle-orm";
import { hasIdPrefix, prepareBatchEnd, lastId, listIds } from "../../../platform/db/batches.ts";
import type { Db } from "../../../platform/db/open.ts";
import {
  emailQueue,
  emails,
  emailTotals,
  lanes,
  SYSTEM_WORKSPACE_ID,
  workspaces,
} from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { rangeOfVia } from "../../../protocols/smtp/site-name.ts";
import { earlier, type MessageCandidate, walkById, yieldToEventLoop } from "../../../platform/queue/queue-admin.ts";

/** Rows at the end of a lane among which the last reply is looked for. */
const LAST_ROWS = 20;
/** A slice takes about a millisecond; of many small lanes, each of which costs as much as ten rows, it takes fewer rows. */
const SLICE_ROWS = 2_000;
const MANY_LANES = 400;

/** A place in the order of the queue's covering index. */
export interface QueuePlace {
  laneId: number;
  nextAt: number;
  id: number;
}

/** The rows of one lane in a slice. Those whose send_at lies ahead are `scheduled`, and no part of the rest. */
interface LaneCount {
  laneId: number;
  depth: number;
  scheduled: number;
  /** Of those without a send_at: ids ascend as emails are accepted. */
  oldestId: number | null;
  /** Since when the first of the others has waited. */
  oldestSendAt: number | null;
}

/** Rows of a workspace and state among which the first is looked for that was not scheduled. */
const LOOKED_AT = 1_000;

/**
 * The first row of each workspace and state, by the index of these; and of those that were scheduled, which may be many, the
 * first to expire, if its time has come.
 */
const selectOldest = (now: number) => sql`
  WITH mine AS (SELECT DISTINCT workspace_id FROM email_total
    WHERE status IN ('scheduled', 'queued', 'delivery_delayed') AND count > 0)
  SELECT MIN(at) FROM (
    SELECT (SELECT created_at FROM (SELECT q.created_at, q.send_at FROM email_queue AS q
        WHERE q.workspace_id = mine.workspace_id AND q.state = known.value ORDER BY q.created_at, q.id LIMIT ${LOOKED_AT})
      WHERE send_at IS NULL LIMIT 1) AS at
    FROM mine, json_each('["queued", "sending", "delivery_delayed"]') AS known
    UNION ALL
    SELECT iif(first.send_at <= ${now}, first.send_at, NULL) FROM mine, email_queue AS first
    WHERE first.id = (SELECT q.id FROM email_queue AS q
      WHERE q.workspace_id = mine.workspace_id AND q.send_at IS NOT NULL ORDER BY q.expires_at, q.id LIMIT 1)
  )`;

export type EmailAdminStore = ReturnType<typeof openEmailAdminStore>;

/** Prepares the statements; nothing is written here. */
export function openEmailAdminStore({ orm }: Db) {
  const p = sql.placeholder;
  const isOrAny = (name: string, holds: SQL | undefined) => sql`(${p(name)} IS NULL OR ${holds})`;
  const ofDestination = orm
    .select({ id: lanes.id })
    .from(lanes)
    .where(
      or(
        eq(lanes.destination, p("destination")),
        // By any egress.
        and(gte(lanes.destination, p("viaFrom")), lt(lanes.destination, p("viaTo"))),
      ),
    );
  const { sendAt } = emailQueue;
  const isAhead = sql`COALESCE(${sendAt}, 0) > ${p("now")}`;
  const selectMatching = prepare(
    orm
      .select({ id: emailQueue.id, isRunning: emailQueue.inFlight })
      .from(emailQueue)
      .where(
        and(
          gt(emailQueue.id, p("id")),
          lte(emailQueue.id, p("end")),
          isOrAny("workspaceId", eq(emailQueue.workspaceId, p("workspaceId"))),
          isOrAny("before", sql`(${lt(emailQueue.createdAt, p("before"))} AND NOT ${isAhead})`),
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
  const findSliceEnd = prepareBatchEnd(orm, emailQueue);
  // Given the three columns in one comparison, SQLite uses two for the range, and would walk all rows that are due at one
  // time for every slice of them: those are read apart.
  const isAlike = and(
    eq(emailQueue.laneId, p("laneId")),
    eq(emailQueue.nextAt, p("nextAt")),
    gt(emailQueue.id, p("id")),
  );
  const due = sql`(${emailQueue.laneId}, ${emailQueue.nextAt})`;
  const isLater = sql`${due} > (${p("laneId")}, ${p("nextAt")})`;
  const selectEnd = (where: typeof isAlike) =>
    prepare(
      orm
        .select({ laneId: emailQueue.laneId, nextAt: emailQueue.nextAt, id: emailQueue.id })
        .from(emailQueue)
        .where(where)
        .orderBy(asc(emailQueue.laneId), asc(emailQueue.nextAt), asc(emailQueue.id))
        .limit(1)
        .offset(p("ahead")),
    );
  const selectAlikeEnd = selectEnd(isAlike);
  const selectLaterEnd = selectEnd(isLater);
  const countByLane = (where: typeof isAlike) =>
    prepare(
      orm
        .select({
          laneId: emailQueue.laneId,
          rows: count(),
          scheduled: sql<number>`SUM(${isAhead})`,
          oldestId: sql<number | null>`MIN(CASE WHEN ${sendAt} IS NULL THEN ${emailQueue.id} END)`,
          oldestSendAt: sql<number | null>`MIN(CASE WHEN NOT ${isAhead} THEN ${sendAt} END)`,
        })
        .from(emailQueue)
        .where(where)
        .groupBy(emailQueue.laneId),
    );
  const countAlike = countByLane(and(isAlike, lte(emailQueue.id, p("endId"))));
  const countLater = countByLane(and(isLater, sql`${due} < (${p("endLaneId")}, ${p("endNextAt")})`));
  const candidate = {
    uid: emails.uid,
    workspaceId: emails.workspaceId,
    from: emails.sender,
    to: emails.recipient,
    // As toStatus has it: the queue row says what an email that waits is.
    status: sql<string>`COALESCE(${emailQueue.state}, ${emails.status})`,
    createdAt: emails.createdAt,
  };

  return {
    /** A filter by `before` leaves out emails whose send_at lies ahead: nothing of theirs can be under way or lost. */
    list: (now: number) =>
      walkById(findSliceEnd, (range) => {
        const [viaFrom, viaTo] = rangeOfVia(range.destination ?? "");
        return selectMatching.all({ ...range, viaFrom, viaTo, now });
      }),
    lastId: () => lastId(orm, emailQueue),

    /**
     * The next `rows` rows of the queue after `from`, by lane, a lane maybe more than once; `end` is the last of them,
     * null when there are no more.
     */
    countSlice(from: QueuePlace, rows: number, now: number): { lanes: LaneCount[]; end: QueuePlace | null } {
      const alike = (of: QueuePlace, endId: number) => countAlike.all({ ...of, endId, now }).map(toLaneCount);
      const alikeEnd = selectAlikeEnd.get({ ...from, ahead: rows - 1 });
      if (alikeEnd !== undefined) return { lanes: alike(from, alikeEnd.id), end: alikeEnd };
      const first = alike(from, Number.MAX_SAFE_INTEGER);
      const left = rows - (first[0] === undefined ? 0 : first[0].depth + first[0].scheduled);
      const end = selectLaterEnd.get({ ...from, ahead: left - 1 }) ?? null;
      const bounds = { endLaneId: end?.laneId ?? Number.MAX_SAFE_INTEGER, endNextAt: end?.nextAt ?? 0 };
      const later = countLater.all({ ...from, ...bounds, now }).map(toLaneCount);
      const last = end === null ? [] : alike({ ...end, id: 0 }, end.id);
      return { lanes: [...first, ...later, ...last], end };
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
    /** Since when the first of counted rows has waited, Unix ms: accepted, or scheduled for; null: it is gone. */
    findOldestAt({ oldestId, oldestSendAt }: Pick<LaneCount, "oldestId" | "oldestSendAt">): number | null {
      const createdAt = oldestId === null ? null : selectCreatedAt.get({ id: oldestId })?.createdAt;
      return earlier(oldestSendAt, createdAt);
    },

    /** Emails that have not ended, from the maintained totals; `waiting`: all but those scheduled. */
    waiting(): { waiting: number; delayed: number; scheduled: number } {
      const rows = orm
        .select({ status: emailTotals.status, count: sql<number>`SUM(${emailTotals.count})` })
        .from(emailTotals)
        .where(inArray(emailTotals.status, ["scheduled", "queued", "delivery_delayed"]))
        .groupBy(emailTotals.status)
        .all();
      const total = (status: string) => rows.find((row) => row.status === status)?.count ?? 0;
      const [queued, delayed] = [total("queued"), total("delivery_delayed")];
      return { waiting: queued + delayed, delayed, scheduled: total("scheduled") };
    },
    /** Since when the oldest email has waited that is not scheduled for later: accepted, or scheduled for; null: there is none. */
    oldestAt: (now: number): number | null => orm.get<[at: number | null]>(selectOldest(now))[0],

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
        .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
        .where(hasIdPrefix(emails.uid, prefix))
        .orderBy(desc(emails.uid))
        .limit(limit)
        .all(),
    /** A workspace's emails to an address, the newest first: the index begins with the workspace. */
    byRecipient: (workspaceId: number, address: string, limit: number): MessageCandidate[] =>
      orm
        .select(candidate)
        .from(emails)
        .leftJoin(emailQueue, eq(emailQueue.id, emails.id))
        .where(and(eq(emails.workspaceId, workspaceId), eq(emails.recipientAddress, address)))
        .orderBy(desc(emails.createdAt), desc(emails.id))
        .limit(limit)
        .all(),
    /** Whose mail there may be, pombo's own included. */
    workspaceIds: (): number[] => [SYSTEM_WORKSPACE_ID, ...listIds(orm, workspaces)],
  };
}

function toLaneCount({ rows, ...row }: Omit<LaneCount, "depth"> & { rows: number }): LaneCount {
  return { ...row, depth: rows - row.scheduled };
}

/**
 * Counts the queue by walking its covering index, in slices with turns of the event loop between, so that a million rows
 * stop nobody. Rows move meanwhile, so that the figures are those of about one moment.
 */
export async function* countLanes(
  store: Pick<EmailAdminStore, "countSlice">,
  { now }: { now: number },
): AsyncGenerator<LaneCount[]> {
  let rows = SLICE_ROWS;
  for (let place: QueuePlace | null = { laneId: 0, nextAt: 0, id: 0 }; place !== null;) {
    const slice: { lanes: LaneCount[]; end: QueuePlace | null } = store.countSlice(place, rows, now);
    await yieldToEventLoop();
    yield slice.lanes;
    place = slice.end;
    rows = slice.lanes.length >= MANY_LANES ? MANY_LANES : SLICE_ROWS;
  }
}
