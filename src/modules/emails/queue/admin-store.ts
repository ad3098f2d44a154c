// The operator's queries on the email queue. It may have a million rows, so they walk it in slices or read its ends.

import { and, asc, count, desc, eq, gt, inArray, lt, lte, min, or, type SQL, sql } from "drizzle-orm";
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
import { type MessageCandidate, walkById, yieldToEventLoop } from "../../../platform/queue/queue-admin.ts";

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

/** The rows of one lane in a slice. */
interface LaneCount {
  laneId: number;
  depth: number;
  /** Ids ascend as emails are accepted. */
  oldestId: number;
}

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
        .select({ laneId: emailQueue.laneId, depth: count(), oldestId: sql<number>`${min(emailQueue.id)}` })
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
    list: walkById(findSliceEnd, (range) => selectMatching.all({ ...range })),
    lastId: () => lastId(orm, emailQueue),

    /**
     * The next `rows` rows of the queue after `from`, by lane, a lane maybe more than once; `end` is the last of them,
     * null when there are no more.
     */
    countSlice(from: QueuePlace, rows: number): { lanes: LaneCount[]; end: QueuePlace | null } {
      const alike = (of: QueuePlace, endId: number) => countAlike.all({ ...of, endId });
      const alikeEnd = selectAlikeEnd.get({ ...from, ahead: rows - 1 });
      if (alikeEnd !== undefined) return { lanes: alike(from, alikeEnd.id), end: alikeEnd };
      const first = alike(from, Number.MAX_SAFE_INTEGER);
      const left = rows - (first[0]?.depth ?? 0);
      const end = selectLaterEnd.get({ ...from, ahead: left - 1 }) ?? null;
      const bounds = { endLaneId: end?.laneId ?? Number.MAX_SAFE_INTEGER, endNextAt: end?.nextAt ?? 0 };
      const later = countLater.all({ ...from, ...bounds });
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

/**
 * Counts the queue by walking its covering index, in slices with turns of the event loop between, so that a million rows
 * stop nobody. Rows move meanwhile, so that the figures are those of about one moment.
 */
export async function* countLanes(store: Pick<EmailAdminStore, "countSlice">): AsyncGenerator<LaneCount[]> {
  let rows = SLICE_ROWS;
  for (let place: QueuePlace | null = { laneId: 0, nextAt: 0, id: 0 }; place !== null;) {
    const slice: { lanes: LaneCount[]; end: QueuePlace | null } = store.countSlice(place, rows);
    await yieldToEventLoop();
    yield slice.lanes;
    place = slice.end;
    rows = slice.lanes.length >= MANY_LANES ? MANY_LANES : SLICE_ROWS;
  }
}
