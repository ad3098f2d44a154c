import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { DomainRow } from "../../domains/store.ts";
import type { Log } from "../../../platform/log.ts";
import type { QueueStore } from "./store.ts";

/** Rows changed in one transaction. */
const SHARE = 500;

export interface MakeDueDeps {
  queue: QueueStore;
  commit: Commit;
  clock: Pick<Clock, "now">;
  log: Log;
  /** A row of the lane is due. */
  nudge: (laneId: number, dueAt: number) => void;
}

/**
 * What kept a domain's mail is over: what waits for another attempt is tried now, a share at a time. Cut
 * off, the rest comes at its own time.
 */
export async function makeMailDueNow(domain: DomainRow, deps: MakeDueDeps): Promise<void> {
  const now = deps.clock.now();
  const { id: domainId, workspaceId } = domain;
  try {
    for (;;) {
      const laneIds = await deps.commit(() => deps.queue.hastenDomain({ workspaceId, domainId }, now, SHARE));
      for (const laneId of new Set(laneIds)) deps.nudge(laneId, now);
      if (laneIds.length < SHARE) return;
    }
  } catch (error) {
    if (!isStorageError(error)) deps.log.error("hasten", error);
  }
}
