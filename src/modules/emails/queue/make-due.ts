// Makes a domain's waiting mail due now.

import type { Context } from "../../../platform/context.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { DomainRow } from "../../domains/store.ts";
import type { QueueStore } from "./store.ts";

/** Rows changed in one transaction. */
const BATCH = 500;

export interface MakeDueDeps extends Pick<Context, "commit" | "clock" | "log"> {
  queue: Pick<QueueStore, "makeDomainDue">;
  /** A row of the lane is due. */
  nudge: (laneId: number, dueAt: number) => void;
}

/** A domain's mail can go again: makes what waits for another attempt due now, in batches. Cut off, the rest comes at its own time. */
export async function makeMailDueNow(domain: DomainRow, deps: MakeDueDeps): Promise<void> {
  const now = deps.clock.now();
  const { id: domainId, workspaceId } = domain;
  try {
    for (;;) {
      const laneIds = await deps.commit(() => deps.queue.makeDomainDue({ workspaceId, domainId }, now, BATCH));
      for (const laneId of new Set(laneIds)) deps.nudge(laneId, now);
      if (laneIds.length < BATCH) return;
    }
  } catch (error) {
    if (!isStorageError(error)) deps.log.error("make due", error);
  }
}
