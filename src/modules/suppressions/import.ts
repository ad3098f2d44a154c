import type { Context } from "../../platform/context.ts";
import { type Channel, type Reason, requireAddress } from "./address.ts";
import type { Imported } from "./operator-schema.ts";
import type { SuppressionStore } from "./store.ts";

/** An item of an import, as its schema lets it through. */
export interface ImportItem {
  address: string;
  channel?: Channel;
  reason?: Reason;
  list?: string | null;
  suppressedAt?: string;
}

/**
 * Adds `items` to the suppressions of a workspace in one transaction; of those that are there the first reason stays.
 * `findWorkspace` is asked inside it, and throws 404 for one that is gone.
 */
export async function importSuppressions(
  findWorkspace: () => { id: number; uid: string },
  items: ImportItem[],
  deps: Pick<Context, "commit" | "clock" | "log"> & { suppressions: SuppressionStore },
): Promise<typeof Imported.static> {
  const now = deps.clock.now();
  const rows = items.map(({ address, reason = "manual", list, suppressedAt }) => {
    const createdAt = suppressedAt === undefined ? now : Date.parse(suppressedAt);
    const { channel, address: stored } = requireAddress(address);
    return { channel, address: stored, list: list ?? "", reason, createdAt };
  });
  const { uid, imported } = await deps.commit(() => {
    const workspace = findWorkspace();
    const added = rows.filter((row) => deps.suppressions.insert({ workspaceId: workspace.id, ...row }));
    return { uid: workspace.uid, imported: added.length };
  });
  deps.log.event("suppressions.imported", { workspace: uid, count: imported });
  return { imported, alreadyThere: rows.length - imported };
}
