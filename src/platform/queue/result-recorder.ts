// Records the results of attempts, each in one transaction with what becomes of its row.

import type { Context } from "../context.ts";
import { FailedWrites } from "../db/failed-writes.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { JobHandler, JobResult } from "./handler.ts";
import type { Job, WorkerQueue } from "./job.ts";
import type { OutcomeJournal } from "./outcome-journal.ts";
import { nextRetryAt } from "./retry-delay.ts";

/** After a failure of the storage. */
const RETRY_MS = 1_000;
/** With so many, nothing is begun any more. */
const MAX_FAILED = 1_000;

export interface ResultRecorderDeps<State> extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  queue: WorkerQueue<State>;
  handler: Pick<JobHandler<State>, "getName">;
  scheduleMs: readonly number[];
  /** Absent: no outcome survives a restart before it is recorded. */
  outcomes?: OutcomeJournal;
}

/** Called once a result is durable: the row waits again from `dueAt` on; null: it is gone, or another attempt's. */
type Recorded = (job: Pick<Job, "laneId" | "expiresAt">, dueAt: number | null) => void;

export class ResultRecorder<State> {
  readonly #deps: ResultRecorderDeps<State>;
  readonly #recorded: Recorded;
  /** Results that an internal error keeps from being recorded, by their rows, which are in flight meanwhile. */
  readonly failed: FailedWrites<number>;
  #isGivingUp = false;
  #unrecorded = 0;

  constructor(deps: ResultRecorderDeps<State>, recorded: Recorded) {
    this.#deps = deps;
    this.#recorded = recorded;
    this.failed = new FailedWrites({
      ...deps,
      component: "worker",
      noun: { one: "delivery", many: "deliveries" },
      atNextStart:
        "records those that are known to be delivered and tries the others again, marked possibleDuplicate where one may have been delivered",
      getName: (id) => deps.handler.getName?.(id) ?? `row ${id}`,
      limit: MAX_FAILED,
    });
  }

  /** Results that were given up: their rows stay in flight, as a crash leaves them. */
  get unrecorded(): number {
    return this.#unrecorded;
  }

  /** A result that the storage does not take now is given up. */
  giveUp(): void {
    this.#isGivingUp = true;
  }

  /** Records a result, however long the storage takes to let it. Never rejects. */
  async record(job: Job<State>, result: JobResult<State>): Promise<void> {
    const { clock, outcomes } = this.#deps;
    let left = result;
    for (;;) {
      try {
        return await this.#write(job, left);
      } catch (error) {
        if (result.outcome !== undefined) outcomes?.add(job, result.outcome());
        if (isStorageError(error)) {
          if (this.#isGivingUp) return void (this.#unrecorded += 1);
          await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
          continue;
        }
        this.logError("record", job, error);
      }
      // The module's rows cannot be written. An attempt certainly without effect is retried without them. Any other must
      // neither be sent again unmarked, nor be taken off the queue with nobody notified of its end.
      const mayRetry = result.action.kind === "retry" && result.isUncertain !== true;
      if (!mayRetry || left !== result) return this.failed.keep(job.id, () => this.#write(job, result));
      left = { action: result.action, isReached: result.isReached };
    }
  }

  /** `where`: the part of the attempt that could not be written. */
  logError(where: "point of no return" | "record", { id, attempt }: Job<State>, cause: unknown): void {
    const what = new Error(`the ${where} of attempt ${attempt} of row ${id} cannot be written`, { cause });
    this.#deps.log.error(where, what, { id: this.failed.getName(id) });
  }

  async #write(job: Job<State>, result: JobResult<State>): Promise<void> {
    const { commit, log, outcomes } = this.#deps;
    const dueAt = await commit(() => this.#writeNow(job, result));
    outcomes?.remove(job.id);
    try {
      this.#recorded(job, dueAt);
      result.committed?.();
    } catch (error) {
      log.error("committed", error);
    }
  }

  /** Inside the transaction. */
  #writeNow(job: Job<State>, result: JobResult<State>): number | null {
    const { queue, clock, random, scheduleMs } = this.#deps;
    const { action } = result;
    switch (action.kind) {
      case "complete": {
        const ownsRow = queue.complete(job);
        result.record?.(ownsRow, job.nextAt);
        return null;
      }
      case "retry": {
        // Counted from the end: an attempt may outlast the delay that its claim has set (ten minutes for the reply to the
        // final dot, against one), and must not be followed by the next at once (R28).
        const at = action.at ?? nextRetryAt(job.attempt, scheduleMs, clock.now(), random);
        // A row expires on time; but one whose last attempt began after that, as after an internal error, must not come
        // again at once for ever.
        const nextAt = job.startedAt < job.expiresAt ? Math.min(at, job.expiresAt) : at;
        const ownsRow = queue.retry(job, { nextAt, state: action.state });
        result.record?.(ownsRow, nextAt);
        return ownsRow ? nextAt : null;
      }
      case "release": {
        // It was due when it was claimed; where the clock was set back since, that time lies ahead.
        const dueAt = action.at ?? Math.min(job.dueAt, clock.now());
        queue.release({ ...job, dueAt });
        return dueAt;
      }
    }
  }
}
