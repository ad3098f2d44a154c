import { and, asc, count, eq, min, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { fast } from "../db/statement.ts";
import { emailQueue, emails, lanes } from "../db/schema.ts";

/** Where in the order of the queue's covering index a walk stands. */
export interface QueuePlace {
  laneId: number;
  nextAt: number;
  id: number;
}

/** What a part of the queue holds of one lane. */
export interface LaneCount {
  laneId: number;
  depth: number;
  /** Ids ascend as emails are accepted. */
  oldestId: number;
}

export type CensusStore = ReturnType<typeof openCensusStore>;

/** Prepares the statements that count the queue; nothing is written here. */
export function openCensusStore({ orm }: Db) {
  const p = sql.placeholder;
  const place = sql`(${emailQueue.laneId}, ${emailQueue.nextAt}, ${emailQueue.id})`;
  const isPast = sql`${place} > (${p("laneId")}, ${p("nextAt")}, ${p("id")})`;
  const selectAhead = fast(
    orm
      .select({ laneId: emailQueue.laneId, nextAt: emailQueue.nextAt, id: emailQueue.id })
      .from(emailQueue)
      .where(isPast)
      .orderBy(asc(emailQueue.laneId), asc(emailQueue.nextAt), asc(emailQueue.id))
      .limit(1)
      .offset(p("ahead"))
      .prepare(),
  );
  const countBetween = fast(
    orm
      .select({ laneId: emailQueue.laneId, depth: count(), oldestId: sql<number>`${min(emailQueue.id)}` })
      .from(emailQueue)
      .where(and(isPast, sql`${place} <= (${p("endLaneId")}, ${p("endNextAt")}, ${p("endId")})`))
      .groupBy(emailQueue.laneId)
      .prepare(),
  );
  const selectDestination = fast(
    orm
      .select({ destination: lanes.destination })
      .from(lanes)
      .where(eq(lanes.id, p("id")))
      .prepare(),
  );
  const selectCreatedAt = fast(
    orm
      .select({ createdAt: emails.createdAt })
      .from(emails)
      .where(eq(emails.id, p("id")))
      .prepare(),
  );

  return {
    /** The next `rows` rows of the queue after `from`, by lane; `end` is the last of them, null when there are no more. */
    countSlice(from: QueuePlace, rows: number): { lanes: LaneCount[]; end: QueuePlace | null } {
      const end = selectAhead.get({ ...from, ahead: rows - 1 }) ?? null;
      const last = end ?? { laneId: Number.MAX_SAFE_INTEGER, nextAt: 0, id: 0 };
      const bounds = { endLaneId: last.laneId, endNextAt: last.nextAt, endId: last.id };
      return { lanes: countBetween.all({ ...from, ...bounds }), end };
    },

    /** The recipient domain that a lane leads to; null: there is no such lane. */
    destinationOf: (laneId: number): string | null => selectDestination.get({ id: laneId })?.destination ?? null,

    /** When an email was accepted, Unix ms; null: there is no such email. */
    acceptedAt: (emailId: number): number | null => selectCreatedAt.get({ id: emailId })?.createdAt ?? null,
  };
}
