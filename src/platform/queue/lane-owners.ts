import type { Log } from "../log.ts";
import type { WorkerQueue } from "./job.ts";

interface OwnerDeps {
  queue: Pick<WorkerQueue, "workspaceOf">;
  isHeld?: (workspaceId: number) => boolean;
  log: Log;
}

/**
 * Whose the lanes are and whether they are held, asked in the middle of what must not fail for it: after a
 * commit, and between two claims. A lane whose workspace cannot be read shares with its like; what cannot
 * be read is not held for that.
 */
export function lookUpOwners({ queue, isHeld, log }: OwnerDeps) {
  const orElse = <T>(otherwise: T, ask: () => T): T => {
    try {
      return ask();
    } catch (error) {
      log.error("lanes", error);
      return otherwise;
    }
  };
  return {
    workspaceOf: (laneId: number): number => orElse(0, () => queue.workspaceOf(laneId)),
    isHeld: (workspaceId: number): boolean => orElse(false, () => isHeld?.(workspaceId) ?? false),
  };
}
