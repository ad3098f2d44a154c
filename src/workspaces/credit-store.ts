import { and, desc, eq, lt } from "drizzle-orm";
import type { Db } from "../db/open.ts";
import { smsCredits } from "../db/schema.ts";
import type { Position } from "../http/pagination.ts";

export type CreditRow = typeof smsCredits.$inferSelect;

export type CreditStore = ReturnType<typeof openCreditStore>;

/** What changed the balances of SMS credits; credits.ts writes it together with the balance. */
export function openCreditStore({ orm }: Db) {
  return {
    insert(row: Omit<CreditRow, "id">): void {
      orm.insert(smsCredits).values(row).run();
    },
    /** A page of a workspace's entries, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): CreditRow[] =>
      orm
        .select()
        .from(smsCredits)
        .where(
          // By id alone, which follows the order of the transactions: a clock that was set back does not.
          and(eq(smsCredits.workspaceId, workspaceId), before === null ? undefined : lt(smsCredits.id, before.id)),
        )
        .orderBy(desc(smsCredits.id))
        .limit(limit + 1)
        .all(),
  };
}
