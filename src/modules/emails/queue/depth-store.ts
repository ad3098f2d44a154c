// Counts the email queue, slice by slice.

import { and, asc, count, eq, gt, lte, min, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { prepare } from "../../../platform/db/statement.ts";
import { emailQueue, emails, lanes } from "../../../platform/db/schema/schema.ts";

/** A place in the order of the queue's covering index. */
export interface QueuePlace {
  laneId: number;
  nextAt: number;
  id: number;
}

/** The rows of one lane in a slice. */
export interface LaneCount {
  laneId: number;
  depth: number;
  /** Ids ascend as emails are accepted. */
  oldestId: number;
}

export type CensusStore = ReturnType<typeof openCensusStore>;

/** Prepares the statements; nothing is written here. */
export function openCensusStore({ orm }: Db) {
  const p = sql.placeholder;
  // Given the three columns in one comparison, SQLite uses two for the range, and would walk all rows that are due at one
  // time for every slice of them: those are read apart.
  const isAlike = and(
    eq(emailQueue.laneId, p("laneId")),
    eq(emailQueue.nextAt, p("nextAt")),
    gt(emailQueue.id, p("id")),
  );
  const due = sql`(${emailQueue.laneId}, ${emailQueue.nextAt})`;
  const isLater = sql`${due} > (${p("laneId")}, ${p("nextAt")})`;
  const endOf = (where: typeof isAlike) =>
    prepare(
      orm
        .select({ laneId: emailQueue.laneId, nextAt: emailQueue.nextAt, id: emailQueue.id })
        .from(emailQueue)
        .where(where)
        .orderBy(asc(emailQueue.laneId), asc(emailQueue.nextAt), asc(emailQueue.id))
        .limit(1)
        .offset(p("ahead")),
    );
  const selectAlikeEnd = endOf(isAlike);
  const selectLaterEnd = endOf(isLater);
  const counted = { laneId: emailQueue.laneId, depth: count(), oldestId: sql<number>`${min(emailQueue.id)}` };
  const countAlike = prepare(
    orm
      .select(counted)
      .from(emailQueue)
      .where(and(isAlike, lte(emailQueue.id, p("endId"))))
      .groupBy(emailQueue.laneId),
  );
  const countLater = prepare(
    orm
      .select(counted)
      .from(emailQueue)
      .where(and(isLater, sql`${due} < (${p("endLaneId")}, ${p("endNextAt")})`))
      .groupBy(emailQueue.laneId),
  );
  const selectDestination = prepare(
    orm
      .select({ destination: lanes.destination })
      .from(lanes)
      .where(eq(lanes.id, p("id"))),
  );
  const selectCreatedAt = prepare(
    orm
      .select({ createdAt: emails.createdAt })
      .from(emails)
      .where(eq(emails.id, p("id"))),
  );

  return {
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

    /** The recipient domain that a lane leads to; null: there is no such lane. */
    destinationOf: (laneId: number): string | null => selectDestination.get({ id: laneId })?.destination ?? null,

    /** When an email was accepted, Unix ms; null: there is no such email. */
    acceptedAt: (emailId: number): number | null => selectCreatedAt.get({ id: emailId })?.createdAt ?? null,
  };
}
