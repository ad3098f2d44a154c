import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { Log } from "../log.ts";
import type { Random } from "../random.ts";
import type { InterruptedJob, LaneHead } from "./job.ts";
import type { WorkerQueue } from "./store.ts";

// Rows in flight that nobody works on: after a crash, or by a bug. An attempt without dot_at sent
// nothing, and starts again soon; from the third on it keeps the delay of its claim, in case it is
// the row that brings the process down. One with it may have been accepted: it keeps the delay of its claim and is recorded as of
// unknown outcome. Each row has a closure of its own, so that one that cannot be recorded, by a bug,
// holds up neither the others nor the start.

/** Attempts that start again at once when they were cut off before their dot. */
const TRUSTED_ATTEMPTS = 2;
/** Interrupted attempts that certainly sent nothing start again within this time. */
const RESTART_SPREAD_MS = 1_000;

export interface RecoverParts {
  queue: WorkerQueue;
  handler: { recordInterrupted(job: { id: number; attempts: number; startedAt: number; dotAt: number }): void };
  commit: Commit;
  clock: Clock;
  random: Random;
  log: Log;
}

/** Boot: frees what a crash left in flight, then answers where work waits. Rejects with StorageError. */
export async function freeInterrupted(parts: RecoverParts): Promise<LaneHead[]> {
  const { queue, commit, clock, random, log } = parts;
  // Read in a transaction too: if the storage fails then, the guard closes, and calls when it opens.
  const interrupted = await commit(() => queue.inFlight());
  const soon = () => clock.now() + Math.floor(RESTART_SPREAD_MS * random.unit());
  await Promise.all(
    interrupted.map((row) => free(row, row.dotAt === null && row.attempts <= TRUSTED_ATTEMPTS ? soon() : null, parts)),
  );
  if (interrupted.length > 0) {
    const unknown = interrupted.filter((row) => row.dotAt !== null).length;
    log.event("queue.recovered", { interrupted: interrupted.length, outcomeUnknown: unknown });
  }
  return commit(() => queue.heads());
}

/** Frees rows whose attempt was lost while running, each after the delay of its claim. Never rejects. */
export async function freeLost(lost: InterruptedJob[], parts: RecoverParts): Promise<LaneHead[]> {
  try {
    await Promise.all(lost.map((row) => free(row, null, parts)));
    return await parts.commit(() => parts.queue.heads());
  } catch (error) {
    parts.log.bug("watch", error); // it looks again in a minute
    return [];
  }
}

async function free(row: InterruptedJob, nextAt: number | null, parts: RecoverParts): Promise<void> {
  const { queue, handler, commit, log } = parts;
  const { id, attempts, startedAt, dotAt } = row;
  try {
    await commit(() => {
      if (dotAt !== null) handler.recordInterrupted({ id, attempts, startedAt: startedAt ?? dotAt, dotAt });
      queue.release(id, nextAt);
    });
  } catch (error) {
    if (isStorageError(error)) throw error;
    log.bug(
      "recover",
      new Error(`the interrupted attempt ${attempts} of row ${id} cannot be recorded`, { cause: error }),
    );
    await commit(() => queue.release(id, nextAt));
  }
}
