import { and, eq, gt, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { emailQueue } from "../../../platform/db/schema/schema.ts";
import { fast } from "../../../platform/db/statement.ts";

// Rows that wait for another attempt and are made due before their time.

/** After so many attempts a retry by hand comes no sooner than this after the last one. */
const FREE_RETRIES = 5;
const RETRY_PAUSE_MS = 60_000;

/** Prepares the statements that make rows due. */
export function openHastening(orm: Db["orm"]) {
  const p = sql.placeholder;
  const updateDueNow = fast(
    orm
      .update(emailQueue)
      // A row that is due already keeps its place among its lane's.
      .set({
        nextAt: sql`MIN(${emailQueue.nextAt}, CASE WHEN ${emailQueue.attempts} > ${FREE_RETRIES}
          THEN MAX(${p("now")}, ${emailQueue.startedAt} + ${RETRY_PAUSE_MS}) ELSE ${p("now")} END)`,
      })
      .where(and(eq(emailQueue.id, p("id")), eq(emailQueue.inFlight, false), gt(emailQueue.attempts, 0)))
      .returning({ laneId: emailQueue.laneId, dueAt: emailQueue.nextAt }),
  );

  return {
    /**
     * Makes a row that waits for another attempt due now, or a minute after the last one when there were some:
     * a loop of retries would be punished by the recipient's server. Its lane and time, or null when there is no such row.
     */
    retryNow(id: number, now: number): { laneId: number; dueAt: number } | null {
      return updateDueNow.get({ id, now }) ?? null;
    },

    /**
     * Makes a share of the rows of a sending domain due now that wait for another attempt; the lane of each.
     * Empty: none is left that is due later.
     */
    hastenDomain(domain: { workspaceId: number; domainId: number }, now: number, limit: number): number[] {
      const share = orm
        .select({ id: emailQueue.id })
        .from(emailQueue)
        .where(
          and(
            eq(emailQueue.workspaceId, domain.workspaceId),
            eq(emailQueue.state, "delivery_delayed"),
            eq(emailQueue.domainId, domain.domainId),
            gt(emailQueue.nextAt, now),
          ),
        )
        .limit(limit);
      const hastened = orm
        .update(emailQueue)
        .set({ nextAt: now })
        .where(inArray(emailQueue.id, share))
        .returning({ laneId: emailQueue.laneId })
        .all();
      return hastened.map(({ laneId }) => laneId);
    },
  };
}
