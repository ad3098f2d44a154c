// Puts a queue in order: rows in flight that nobody works on, and waits after the clock was set back.
//
// A row is left in flight by a crash, or by an internal error. An attempt that had not passed its point of no return had
// no effect and starts again soon; from the third one on it keeps the delay of its claim, in case it is the row that
// brings the process down. An attempt that had passed it may have had its effect: it keeps that delay and is recorded as
// uncertain, unless the journal of outcomes knows that the destination has taken it. Each row has a transaction closure of
// its own, so that one that cannot be recorded because of an internal error holds up neither the others nor the start: it
// stays in flight, since it would be sent again unmarked.

import type { Context } from "../context.ts";
import type { FailedWrites } from "../db/failed-writes.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { JobHandler } from "./handler.ts";
import type { InterruptedJob, LaneHead, WorkerQueue } from "./job.ts";
import type { OutcomeJournal } from "./outcome-journal.ts";

/** Interrupted attempts without effect that start again at once. */
const TRUSTED_ATTEMPTS = 2;
/** They start within this time. */
const RESTART_SPREAD_MS = 1_000;

export interface RecoverDeps extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  queue: WorkerQueue;
  handler: Pick<JobHandler, "recordUncertain" | "recordOutcome">;
  outcomes?: OutcomeJournal;
  failed: Pick<FailedWrites<number>, "keep" | "has" | "getName">;
  /** A row was freed by a later try: here work waits. */
  freed: (head: LaneHead) => void;
}

/** At the start: frees what a crash left in flight, and returns where work waits. Rejects with StorageError. */
export async function freeInterrupted(deps: RecoverDeps): Promise<LaneHead[]> {
  const { queue, commit, clock, random, log, outcomes } = deps;
  // Read in a transaction too: if the storage fails then, the guard closes, and calls when it opens.
  const found = await commit(() => queue.listInFlight());
  outcomes?.open();
  outcomes?.retain(new Set(found.map(({ id }) => id)));
  const interrupted = found.filter(({ id }) => !deps.failed.has(id));
  const known = interrupted.filter((row) => (outcomes?.find(row) ?? null) !== null);
  const isUncertain = (row: InterruptedJob) => (row.uncertainSince ?? null) !== null && !known.includes(row);
  const soon = () => clock.now() + Math.floor(RESTART_SPREAD_MS * random.unit());
  await Promise.all(
    interrupted.map((row) => free(row, !isUncertain(row) && row.attempts <= TRUSTED_ATTEMPTS ? soon() : null, deps)),
  );
  if (interrupted.length > 0) {
    const outcomeUnknown = interrupted.filter(isUncertain).length;
    log.event("queue.recovered", { interrupted: interrupted.length, outcomeKnown: known.length, outcomeUnknown });
  }
  return commit(() => queue.listHeads());
}

/**
 * Frees rows in flight without an attempt, each after the delay of its claim: they would wait for ever. There are none but
 * for an internal error. Returns where work waits.
 */
export async function releaseOrphanedRows(isRunning: (id: number) => boolean, deps: RecoverDeps): Promise<LaneHead[]> {
  const { queue, failed, log, commit } = deps;
  const lost = queue.listInFlight().filter(({ id }) => !isRunning(id) && !failed.has(id));
  if (lost.length === 0) return [];
  log.error("watch", new Error(`${lost.length} rows in flight without an attempt`));
  await Promise.all(lost.map((row) => free(row, null, deps)));
  return await commit(() => queue.listHeads());
}

async function free(row: InterruptedJob, nextAt: number | null, deps: RecoverDeps): Promise<void> {
  const { queue, handler, commit, log, failed, outcomes } = deps;
  const { id, attempts, startedAt, uncertainSince = null } = row;
  const outcome = outcomes?.find(row) ?? null;
  const recordOutcome = (known: string) => {
    // False: it was recorded before.
    if (queue.complete({ id, attempt: attempts })) handler.recordOutcome?.(known);
    return null;
  };
  const tryWrite = () =>
    commit(() => {
      if (outcome !== null) return recordOutcome(outcome);
      const freed = queue.freeInterrupted(row, nextAt);
      if (freed !== null && uncertainSince !== null)
        handler.recordUncertain?.({ id, attempts, startedAt: startedAt ?? uncertainSince, uncertainSince });
      return freed;
    });
  const write = async () => {
    const freed = await tryWrite();
    outcomes?.remove(id);
    return freed;
  };
  try {
    await write();
  } catch (error) {
    if (isStorageError(error)) throw error;
    const what = new Error(`the interrupted attempt ${attempts} of row ${id} cannot be recorded`, { cause: error });
    log.error("recover", what, { id: failed.getName(id) });
    failed.keep(id, async () => {
      const freed = await write();
      // Nothing that may fail follows: it would be written again, beside the next attempt.
      if (freed !== null) deps.freed(freed);
    });
  }
}

/**
 * The clock was set back. A row whose last attempt, or whose acceptance, lies ahead now waits as long from now on as it was
 * to wait from then. So nothing waits more than twice its time, and rows put off before that keep theirs. Repeated, it
 * changes nothing. Returns where work waits.
 */
export async function reschedule({
  queue,
  commit,
  clock,
}: Pick<RecoverDeps, "queue" | "commit" | "clock">): Promise<LaneHead[]> {
  for (let after: number | null = 0; after !== null;) {
    const from: number = after;
    after = await commit(() => queue.rescheduleBatch(from, clock.now()));
  }
  return commit(() => queue.listHeads());
}
