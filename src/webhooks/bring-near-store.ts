import { and, gt, lte, sql } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { events, webhookDeliveries, webhookJobs } from "../db/schema-events.ts";
import { endOfShare } from "../db/shares.ts";

/** Rows that one transaction looks at. */
const SHARE_ROWS = 2_000;
const LAST_ID = Number.MAX_SAFE_INTEGER;

/** Prepares what becomes of the calls when the clock was set back, as for the emails: src/queue/bring-near.ts. */
export function openBringNear(orm: Db["orm"]) {
  const endOf = endOfShare(orm, webhookJobs);
  /** When the wait of a call has begun: with its last attempt, or with its event. */
  const lastCall = sql`SELECT MAX(${webhookDeliveries.createdAt}) FROM ${webhookDeliveries} WHERE ${webhookDeliveries.webhookId} = ${webhookJobs.webhookId} AND ${webhookDeliveries.eventId} = ${webhookJobs.eventId}`;
  const eventAt = sql`SELECT ${events.createdAt} FROM ${events} WHERE ${events.id} = ${webhookJobs.eventId}`;
  const since = sql`COALESCE((${lastCall}), (${eventAt}), 0)`;
  return {
    bringNear(after: number, now: number): number | null {
      const end = endOf(after, SHARE_ROWS);
      orm
        .update(webhookJobs)
        .set({ nextAt: sql`${now} + MAX(0, ${webhookJobs.nextAt} - ${since})` })
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
