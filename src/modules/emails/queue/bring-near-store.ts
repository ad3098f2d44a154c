import { and, gt, lte, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { emailQueue } from "../../../platform/db/schema/schema.ts";
import { prepareBatchEnd } from "../../../platform/db/batches.ts";

/** Rows that one transaction looks at. */
const SHARE_ROWS = 2_000;
const LAST_ID = Number.MAX_SAFE_INTEGER;

/** Prepares what becomes of the emails' rows when the clock was set back. */
export function openBringNear(orm: Db["orm"]) {
  const endOf = prepareBatchEnd(orm, emailQueue);
  /** When the wait of a row has begun. */
  const since = sql`COALESCE(${emailQueue.startedAt}, ${emailQueue.createdAt})`;
  return {
    /** Of the rows behind the id `after`; the last one looked at, or null when there are no more. See platform/queue/bring-near.ts. */
    bringNear(after: number, now: number): number | null {
      const end = endOf(after, SHARE_ROWS);
      orm
        .update(emailQueue)
        .set({
          nextAt: sql`${now} + MAX(0, ${emailQueue.nextAt} - ${since})`,
          startedAt: sql`MIN(${emailQueue.startedAt}, ${now})`,
          badDomainAt: sql`MIN(${emailQueue.badDomainAt}, ${now})`,
        })
        .where(
          and(gt(emailQueue.id, after), lte(emailQueue.id, end ?? LAST_ID), gt(emailQueue.nextAt, now), gt(since, now)),
        )
        .run();
      return end;
    },
  };
}
