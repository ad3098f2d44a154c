import type { Clock } from "../clock.ts";
import type { Commit } from "../db/group-commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { Log } from "../log.ts";
import type { Random } from "../random.ts";
import type { JobHandler } from "./handler.ts";
import type { InterruptedJob, LaneHead, WorkerQueue } from "./job.ts";
import type { FailedResults } from "./failed-results.ts";

// Rows in flight that nobody works on: after a crash, or by a bug. An attempt without dot_at sent
// nothing, and starts again soon; from the third on it keeps the delay of its claim, in case it is
// the row that brings the process down. One with it may have been accepted: it keeps the delay of its claim and is recorded as of
// unknown outcome. Each row has a closure of its own, so that one that cannot be recorded, by a bug,
// holds up neither the others nor the start: it stays in flight, since it would be sent again unmarked.

/** Attempts that start again at once when they were cut off before their dot. */
const TRUSTED_ATTEMPTS = 2;
/** Interrupted attempts that certainly sent nothing start again within this time. */
const RESTART_SPREAD_MS = 1_000;

export interface RecoverDeps {
  queue: WorkerQueue;
  handler: Pick<JobHandler, "recordUncertain">;
  commit: Commit;
  clock: Clock;
  random: Random;
  log: Log;
  unwritten: Pick<FailedResults, "keep" | "has" | "nameOf">;
  /** These were freed after all: where work waits. */
  freed: (heads: LaneHead[]) => void;
}

/** Boot: frees what a crash left in flight, then answers where work waits. Rejects with StorageError. */
export async function freeInterrupted(deps: RecoverDeps): Promise<LaneHead[]> {
  const { queue, commit, clock, random, log } = deps;
  // Read in a transaction too: if the storage fails then, the guard closes, and calls when it opens.
  const found = await commit(() => queue.inFlight());
  const interrupted = found.filter(({ id }) => !deps.unwritten.has(id));
  const soon = () => clock.now() + Math.floor(RESTART_SPREAD_MS * random.unit());
  await Promise.all(
    interrupted.map((row) => free(row, row.dotAt === null && row.attempts <= TRUSTED_ATTEMPTS ? soon() : null, deps)),
  );
  if (interrupted.length > 0) {
    const unknown = interrupted.filter((row) => row.dotAt !== null).length;
    log.event("queue.recovered", { interrupted: interrupted.length, outcomeUnknown: unknown });
  }
  return commit(() => queue.heads());
}

/** Rows in flight that nobody here works on would wait for ever: a bug, told and mended. */
export function mendLost(isRunning: (id: number) => boolean, deps: RecoverDeps): void {
  const { queue, unwritten, log } = deps;
  try {
    const lost = queue.inFlight().filter(({ id }) => !isRunning(id) && !unwritten.has(id));
    if (lost.length === 0) return;
    log.error("watch", new Error(`${lost.length} rows in flight without an attempt`));
    void freeLost(lost, deps).then(deps.freed);
  } catch (error) {
    log.error("watch", error);
  }
}

/** Each after the delay of its claim. Never rejects. */
async function freeLost(lost: InterruptedJob[], deps: RecoverDeps): Promise<LaneHead[]> {
  try {
    await Promise.all(lost.map((row) => free(row, null, deps)));
    return await deps.commit(() => deps.queue.heads());
  } catch (error) {
    deps.log.error("watch", error); // it looks again in a minute
    return [];
  }
}

async function free(row: InterruptedJob, nextAt: number | null, deps: RecoverDeps): Promise<void> {
  const { queue, handler, commit, log, unwritten } = deps;
  const { id, attempts, startedAt, dotAt } = row;
  const write = () =>
    commit(() => {
      const freed = queue.freeInterrupted(row, nextAt);
      if (freed !== null && dotAt !== null)
        handler.recordUncertain({ id, attempts, startedAt: startedAt ?? dotAt, dotAt });
      return freed;
    });
  try {
    await write();
  } catch (error) {
    if (isStorageError(error)) throw error;
    const what = new Error(`the interrupted attempt ${attempts} of row ${id} cannot be recorded`, { cause: error });
    log.error("recover", what, { id: unwritten.nameOf(id) });
    unwritten.keep(id, async () => {
      const freed = await write();
      // Nothing that may fail follows: it would be written again, beside the next attempt.
      if (freed !== null) deps.freed([freed]);
    });
  }
}
