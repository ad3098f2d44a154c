import { eq, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { emailQueue } from "../../../platform/db/schema/schema.ts";
import { fast } from "../../../platform/db/statement.ts";
import type { QueueCounts, RowOwner } from "../../../platform/queue/job.ts";

// Which rows are delayed. A row is that once an attempt at it has ended and left it there: its attempts, less the
// one that runs, are above 0. The begin of an attempt changes nothing of that, so that what is delivered at its
// first one, as most is, never counts as delayed.

/** What tells whether a row is delayed, and whose it is. */
export const STANDING = {
  workspaceId: emailQueue.workspaceId,
  domainId: emailQueue.domainId,
  attempts: emailQueue.attempts,
  inFlight: emailQueue.inFlight,
};

interface Standing extends RowOwner {
  attempts: number;
  inFlight: boolean;
}

/** Tells `counts`, where there are any, of every row that comes to be delayed or ceases to be. */
export function followDelayed(orm: Db["orm"], counts: QueueCounts | null) {
  const selectStanding = fast(
    orm
      .select(STANDING)
      .from(emailQueue)
      .where(eq(emailQueue.id, sql.placeholder("id"))),
  );
  return {
    /** Of a row in the queue; undefined: there is none. */
    standingOf: (id: number): Standing | undefined => selectStanding.get({ id }),

    /** Takes note of a row that is gone. */
    gone(row: Standing): void {
      if (isDelayed(row)) counts?.delayed(row, -1);
    },

    /** Makes a change to a row that stays, and tells whether it made the row a delayed one, or one no more. */
    changing<T>(id: number, change: () => T): T {
      if (counts === null) return change();
      const before = selectStanding.get({ id });
      const result = change();
      const after = selectStanding.get({ id });
      if (before === undefined || after === undefined || isDelayed(before) === isDelayed(after)) return result;
      counts.delayed(after, isDelayed(after) ? 1 : -1);
      return result;
    },
  };
}

function isDelayed({ attempts, inFlight }: Standing): boolean {
  return attempts > (inFlight ? 1 : 0);
}
