import { and, asc, desc, eq, getTableColumns, gt, isNull, lt, lte, max, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { heldSuppressions, workspaces } from "../../platform/db/schema/schema.ts";
import { prepare } from "../../platform/db/statement.ts";
import type { Position } from "../../platform/http/pagination.ts";

export type HeldRow = typeof heldSuppressions.$inferSelect;

/** Selects held suppressions; null: all. */
export interface HeldFilter {
  workspace: { id: number; uid: string } | null;
  site: string | null;
}

export type HeldStore = ReturnType<typeof openHeldStore>;

/** Held suppressions, as the operator reads and moves them; store.ts holds them. */
export function openHeldStore({ orm }: Db) {
  const deleteRow = prepare(orm.delete(heldSuppressions).where(eq(heldSuppressions.id, sql.placeholder("id"))));

  return {
    /** A page, newest first, with the workspaces as the API names them, and one row more when there are more. */
    list: (filter: HeldFilter, before: Position | null, limit: number) =>
      orm
        .select({ held: heldSuppressions, workspaceUid: workspaces.uid })
        .from(heldSuppressions)
        .innerJoin(workspaces, eq(workspaces.id, heldSuppressions.workspaceId))
        .where(
          and(
            isNull(workspaces.deletedAt),
            filter.workspace === null ? undefined : eq(heldSuppressions.workspaceId, filter.workspace.id),
            filter.site === null ? undefined : eq(heldSuppressions.site, filter.site),
            before === null ? undefined : lt(heldSuppressions.id, before.id),
          ),
        )
        // Ids ascend as rows are held, whatever the clock says.
        .orderBy(desc(heldSuppressions.id))
        .limit(limit + 1)
        .all(),

    /** The newest row's; 0: nothing is held. */
    lastId: (): number =>
      orm
        .select({ id: max(heldSuppressions.id) })
        .from(heldSuppressions)
        .get()?.id ?? 0,

    /**
     * The next `limit` rows after `from`, up to `to`, of any workspace that was not deleted: what belonged to a
     * deleted one is being removed, and must not be put where that has been already.
     */
    between: (from: number, to: number, limit: number): HeldRow[] =>
      orm
        .select(getTableColumns(heldSuppressions))
        .from(heldSuppressions)
        .innerJoin(workspaces, eq(workspaces.id, heldSuppressions.workspaceId))
        .where(and(gt(heldSuppressions.id, from), lte(heldSuppressions.id, to), isNull(workspaces.deletedAt)))
        .orderBy(asc(heldSuppressions.id))
        .limit(limit)
        .all(),

    remove(id: number): void {
      deleteRow.run({ id });
    },
  };
}
