// Applies or drops held suppressions for the operator. Rows go in batches, each in a transaction that moves it from one
// table to the other, so that a crash leaves every row in one of them, and the same call goes on where it ended. Rows
// that are held later wait for the next call.

import type { Context } from "../../platform/context.ts";
import type { HeldFilter, HeldRow, HeldStore } from "./held-store.ts";
import type { SuppressionStore } from "./store.ts";

/** Rows looked at in one transaction: some milliseconds. */
const BATCH = 300;

export interface HeldDeps extends Pick<Context, "commit" | "clock" | "log"> {
  suppressions: SuppressionStore;
  held: HeldStore;
}

/** Suppresses the addresses that `filter` selects; how many rows that were. */
export async function applyHeld(filter: HeldFilter, deps: HeldDeps): Promise<number> {
  const createdAt = deps.clock.now();
  const count = await changeInBatches(filter, deps, ({ workspaceId, channel, address, reason }) => {
    // Where it is suppressed already that reason stays.
    deps.suppressions.insert({ workspaceId, channel, address, reason, createdAt });
  });
  deps.log.event("suppressions.applied", { count, ...toLogFields(filter) });
  return count;
}

/** Forgets the rows that `filter` selects; how many that were. */
export async function dropHeld(filter: HeldFilter, deps: HeldDeps): Promise<number> {
  const count = await changeInBatches(filter, deps, () => undefined);
  deps.log.event("suppressions.dropped", { count, ...toLogFields(filter) });
  return count;
}

async function changeInBatches(filter: HeldFilter, deps: HeldDeps, move: (row: HeldRow) => void): Promise<number> {
  const { held, commit } = deps;
  const last = held.lastId();
  let count = 0;
  for (let from: number | null = 0; from !== null;) {
    const after: number = from;
    const batch = await commit(() => {
      // By id and not by the filter, whose rows may be few among very many: each batch costs the same.
      const rows = held.between(after, last, BATCH);
      const meant = rows.filter((row) => isMeant(row, filter));
      for (const row of meant) {
        move(row);
        held.remove(row.id);
      }
      return { count: meant.length, next: rows.length < BATCH ? null : (rows.at(-1)?.id ?? null) };
    });
    count += batch.count;
    from = batch.next;
  }
  return count;
}

function isMeant(row: HeldRow, { workspace, site }: HeldFilter): boolean {
  return (workspace === null || row.workspaceId === workspace.id) && (site === null || row.site === site);
}

function toLogFields({ workspace, site }: HeldFilter): Record<string, string> {
  return {
    ...(workspace === null ? {} : { workspace: workspace.uid }),
    ...(site === null ? {} : { site }),
  };
}
