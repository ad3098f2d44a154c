import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import type { Log } from "../../platform/log.ts";
import type { HeldFilter, HeldRow, HeldStore } from "./held-store.ts";
import type { SuppressionStore } from "./store.ts";

// What the operator decides about suppressions that are held: applied, they suppress from then on;
// dropped, they are forgotten. Rows go in shares, each in a transaction of its own that takes it out of the
// one table and puts it into the other, so that a crash leaves every row in one of them, and the same
// call goes on where it ended. What is held after the call came waits for the next.

/** Rows looked at in one transaction: some milliseconds. */
const SHARE = 300;

export interface HeldDeps {
  suppressions: SuppressionStore;
  held: HeldStore;
  commit: Commit;
  clock: Clock;
  log: Log;
}

/** Suppresses whom `filter` means; how many rows that were. */
export async function applyHeld(filter: HeldFilter, deps: HeldDeps): Promise<number> {
  const createdAt = deps.clock.now();
  const count = await inShares(filter, deps, ({ workspaceId, channel, address, reason }) => {
    // By hand or otherwise it may be suppressed already: that reason stays.
    deps.suppressions.insert({ workspaceId, channel, address, reason, createdAt });
  });
  deps.log.event("suppressions.applied", { count, ...inWords(filter) });
  return count;
}

/** Forgets whom `filter` means; how many rows that were. */
export async function dropHeld(filter: HeldFilter, deps: HeldDeps): Promise<number> {
  const count = await inShares(filter, deps, () => undefined);
  deps.log.event("suppressions.dropped", { count, ...inWords(filter) });
  return count;
}

async function inShares(filter: HeldFilter, deps: HeldDeps, move: (row: HeldRow) => void): Promise<number> {
  const { held, commit } = deps;
  const last = held.lastId();
  let count = 0;
  for (let from: number | null = 0; from !== null;) {
    const after: number = from;
    const share = await commit(() => {
      // By id and not by the filter, whose rows may be few among very many: each share costs the same.
      const rows = held.between(after, last, SHARE);
      const meant = rows.filter((row) => isMeant(row, filter));
      for (const row of meant) {
        move(row);
        held.remove(row.id);
      }
      return { count: meant.length, next: rows.length < SHARE ? null : (rows.at(-1)?.id ?? null) };
    });
    count += share.count;
    from = share.next;
  }
  return count;
}

function isMeant(row: HeldRow, { workspace, site }: HeldFilter): boolean {
  return (workspace === null || row.workspaceId === workspace.id) && (site === null || row.site === site);
}

function inWords({ workspace, site }: HeldFilter): Record<string, string> {
  return {
    ...(workspace === null ? {} : { workspace: workspace.uid }),
    ...(site === null ? {} : { site }),
  };
}
