// The port between the worker and the module that makes its attempts.

import type { Job } from "./job.ts";

/** The result of an attempt, for the worker to record. */
export interface JobResult<State = unknown> {
  action:
    | { kind: "complete" }
    /** `at` null: as the schedule says. */
    | { kind: "retry"; at: number | null; state: State }
    /** The attempt was not begun: as if the row had never been claimed; but it is not due before `at`. */
    | { kind: "release"; at?: number | undefined };
  /** The attempt may have had its effect, and only `record` says so: unless that is written, the row must not be retried. */
  isUncertain?: boolean;
  /**
   * The destination is known to have taken it: for `recordOutcome` of the next start, where `record` cannot be written in this run
   * (outcome-journal.ts). Under 1.5 KB.
   */
  outcome?(): string;
  /** Whether the destination answered; null: it was not tried. */
  isReached: boolean | null;
  /**
   * Writes the module's own rows, inside the transaction. `ownsRow` false: the row was taken from this attempt meanwhile.
   * `nextAt`: when a row that is retried is due.
   */
  record?(ownsRow: boolean, nextAt: number): void;
  /** Called once the result is durable. */
  committed?(): void;
}

export interface AttemptContext {
  /** Commits that the attempt may have an effect from now on. Rejects when that was not possible, with RowTaken when the row was taken. */
  markPointOfNoReturn(): Promise<void>;
  /** The job leads to this site, whose limits hold for its lane from now on. */
  locate(site: string): void;
  /** Aborted when the worker stops: an attempt not yet begun should be released. */
  stopping: AbortSignal;
  /** Aborted when the grace of a stop is over: connections must end now. */
  cutOff: AbortSignal;
}

/** An attempt that was cut off behind its point of no return. */
export interface UncertainJob {
  id: number;
  attempts: number;
  startedAt: number;
  uncertainSince: number;
}

export interface JobHandler<State = unknown> {
  attempt(job: Job<State>, context: AttemptContext): Promise<JobResult<State>>;
  /** Inside a transaction; needed where the queue has a point of no return. */
  recordUncertain?(job: UncertainJob): void;
  /** Inside a transaction: what `record` of a result with this `outcome` could not write. The row is off the queue. */
  recordOutcome?(outcome: string): void;
  /** The state of a row whose attempt ended with an internal error; default: unchanged. */
  stateAfterError?(job: Job<State>): State;
  /** By which name the operator knows a row. */
  getName?(id: number): string | null;
}
