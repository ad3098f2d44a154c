// Which rows of the queue are delayed: those at which an attempt has ended without taking them off. Their attempts, less
// the running one, are above 0. The begin of an attempt changes nothing of that, so that mail delivered at its first
// attempt, as most is, never counts as delayed.

import { eq, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { emailQueue } from "../../../platform/db/schema/schema.ts";
import { prepare } from "../../../platform/db/statement.ts";

/** Notified, inside the transaction. */
export interface QueueCounts {
  /** There are so many more (1) or fewer (-1) delayed rows of a sending domain. */
  delayed(owner: RowOwner, change: 1 | -1): void;
}

export interface RowOwner {
  workspaceId: number;
  domainId: number;
}

/** The columns that say whether a row is delayed, and whose it is. */
export const DELAYED_COLUMNS = {
  workspaceId: emailQueue.workspaceId,
  domainId: emailQueue.domainId,
  attempts: emailQueue.attempts,
  inFlight: emailQueue.inFlight,
};

interface Row extends RowOwner {
  attempts: number;
  inFlight: boolean;
}

/** Notifies `counts`, where there are any, of every row that comes to be delayed or ceases to be. */
export function countDelayed(orm: Db["orm"], counts: QueueCounts | null) {
  const selectRow = prepare(
    orm
      .select(DELAYED_COLUMNS)
      .from(emailQueue)
      .where(eq(emailQueue.id, sql.placeholder("id"))),
  );
  return {
    /** The row was removed. */
    countRemoved(row: Row): void {
      if (isDelayed(row)) counts?.delayed(row, -1);
    },

    /** Makes a change to a row that stays. */
    countChange<T>(id: number, change: () => T): T {
      if (counts === null) return change();
      const before = selectRow.get({ id });
      const result = change();
      const after = selectRow.get({ id });
      if (before === undefined || after === undefined || isDelayed(before) === isDelayed(after)) return result;
      counts.delayed(after, isDelayed(after) ? 1 : -1);
      return result;
    },
  };
}

function isDelayed({ attempts, inFlight }: Row): boolean {
  return attempts > (inFlight ? 1 : 0);
}
