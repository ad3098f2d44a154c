import type { CreditStore, NewCredit } from "./credit-store.ts";
import type { WorkspaceStore } from "./store.ts";

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
  if (balance !== null) deps.credits.insert(entry);
  return balance;
}
