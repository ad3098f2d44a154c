import { and, gt, lte, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { events, webhookJobs } from "../../../platform/db/schema/events.ts";
import { prepareBatchEnd } from "../../../platform/db/batches.ts";

/** Rows that one transaction looks at. */
const SHARE_ROWS = 2_000;
const LAST_ID = Number.MAX_SAFE_INTEGER;

/** Prepares what becomes of the calls when the clock was set back, as for the emails: src/platform/queue/bring-near.ts. */
export function openBringNear(orm: Db["orm"]) {
  const endOf = prepareBatchEnd(orm, webhookJobs);
  const eventAt = sql`SELECT ${events.createdAt} FROM ${events} WHERE ${events.id} = ${webhookJobs.eventId}`;
  /** When the wait of a call has begun: with the call before it, or with its event. */
  const since = sql`COALESCE(${webhookJobs.startedAt}, (${eventAt}), 0)`;
  return {
    bringNear(after: number, now: number): number | null {
      const end = endOf(after, SHARE_ROWS);
      orm
        .update(webhookJobs)
        .set({
          nextAt: sql`${now} + MAX(0, ${webhookJobs.nextAt} - ${since})`,
          startedAt: sql`MIN(${webhookJobs.startedAt}, ${now})`,
        })
        .where(
          and(
            gt(webhookJobs.id, after),
            lte(webhookJobs.id, end ?? LAST_ID),
            gt(webhookJobs.nextAt, now),
            gt(since, now),
          ),
        )
        .run();
      return end;
    },
  };
}
