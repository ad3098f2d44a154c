// SMS credits: the entries that explain balances, and the change of a balance with its entry.

import { and, desc, eq, getTableColumns, lt } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { smsCredits, smsMessages } from "../../platform/db/schema/sms.ts";
import { prepareInsert } from "../../platform/db/batches.ts";
import type { Position } from "../../platform/http/pagination.ts";
import type { WorkspaceStore } from "./store.ts";

export type CreditRow = typeof smsCredits.$inferSelect;

/** An entry to be written; of what is no message's without one. */
export type NewCredit = Omit<CreditRow, "id" | "balance" | "messageId" | "segments"> &
  Partial<Pick<CreditRow, "messageId" | "segments">>;

/** `smsUid` null: it is about no SMS. */
export type ListedCredit = CreditRow & { smsUid: string | null };

export type CreditStore = ReturnType<typeof openCreditStore>;

/** The entries that explain balances of SMS credits; changeCredits() writes them together with the balance. */
export function openCreditStore({ orm, changes }: Db) {
  const insertRow = prepareInsert(orm, smsCredits);
  return {
    insert(row: NewCredit & Pick<CreditRow, "balance">): void {
      // A message notes its own changes.
      if (row.kind === "grant") changes.note(row.workspaceId, "sms");
      insertRow({ messageId: null, segments: null, ...row });
    },
    /** A page of a workspace's entries with the ids of their SMS, newest first, and one row more when there are more. */
    list: (workspaceId: number, before: Position | null, limit: number): ListedCredit[] =>
      orm
        .select({ ...getTableColumns(smsCredits), smsUid: smsMessages.uid })
        .from(smsCredits)
        .leftJoin(smsMessages, eq(smsMessages.id, smsCredits.messageId))
        .where(
          // Only by id, which follows the order of the transactions: a clock that was set back does not.
          and(eq(smsCredits.workspaceId, workspaceId), before === null ? undefined : lt(smsCredits.id, before.id)),
        )
        .orderBy(desc(smsCredits.id))
        .limit(limit + 1)
        .all(),
  };
}

/**
 * Changes a workspace's balance of SMS credits and notes why, inside the caller's transaction: the balance
 * is always the sum of its entries. The balance then, or null when it would fall below 0 (or the workspace
 * is gone) and nothing was written.
 */
export function changeCredits(
  entry: NewCredit,
  deps: { workspaces: Pick<WorkspaceStore, "addCredits">; credits: Pick<CreditStore, "insert"> },
): number | null {
  const balance = deps.workspaces.addCredits(entry.workspaceId, entry.amount);
  if (balance !== null) deps.credits.insert({ ...entry, balance });
  return balance;
}
