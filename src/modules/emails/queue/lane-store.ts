// The lanes of the email queue: one for each destination of a workspace's mail.

import { eq, sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { lanes } from "../../../platform/db/schema/schema.ts";
import { matches, prepare, toPlaceholders } from "../../../platform/db/statement.ts";

/** Lanes whose ids are cached. */
const MAX_CACHED_LANES = 20_000;

/** Prepares the statements of the lanes. */
export function openLaneStore(orm: Db["orm"]) {
  const p = sql.placeholder;
  const selectLane = prepare(
    orm
      .select({ id: lanes.id })
      .from(lanes)
      .where(matches(lanes, "workspaceId", "destination")),
  );
  const insertLane = prepare(
    orm
      .insert(lanes)
      .values(toPlaceholders(lanes, "workspaceId", "destination"))
      .returning({ id: lanes.id }),
  );
  const selectWorkspace = prepare(
    orm
      .select({ workspaceId: lanes.workspaceId })
      .from(lanes)
      .where(eq(lanes.id, p("id"))),
  );

  // Only lanes that are known to be committed; they are removed with their workspace only.
  const laneIds = new Map<string, number>();

  return {
    /** The lane of a workspace for a destination, created when it is new. */
    laneFor(workspaceId: number, destination: string): number {
      const key = { workspaceId, destination };
      const name = `${workspaceId} ${destination}`;
      const known = laneIds.get(name);
      if (known !== undefined) return known;
      const found = selectLane.get(key);
      return found?.id ?? insertLane.get(key).id;
    },
    /** The lane exists durably: laneFor need not look it up again. */
    rememberLane(workspaceId: number, destination: string, laneId: number): void {
      if (laneIds.size >= MAX_CACHED_LANES) laneIds.clear();
      laneIds.set(`${workspaceId} ${destination}`, laneId);
    },

    /** The workspace was deleted, and its lanes removed. */
    forgetLanes(workspaceId: number): void {
      for (const name of laneIds.keys()) if (name.startsWith(`${workspaceId} `)) laneIds.delete(name);
    },

    /** The workspace of a lane; 0: it is that of pombo's own mail, or there is no such lane. */
    findWorkspace: (laneId: number): number => selectWorkspace.get({ id: laneId })?.workspaceId ?? 0,
  };
}
