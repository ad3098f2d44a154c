import type { Job } from "./job.ts";

// Between the worker and whoever makes its attempts.

/** What came of an attempt, for the worker to write. */
export interface JobResult {
  action:
    | { kind: "finish" }
    /** `at` null: as the schedule says. */
    | { kind: "defer"; at: number | null; lastReply: string | null; badDomainAt: number | null }
    /** The attempt was not begun: as if it had never been claimed. */
    | { kind: "give_back" };
  /** It may have been taken, and only `record` says so: unless that is written, the row must not be put off. */
  isInDoubt?: boolean;
  /** The destination answered; null: not tried. */
  isReached: boolean | null;
  /**
   * Writes the room's own rows, inside the transaction. `ownsRow` false: the row had meanwhile been
   * taken from this attempt. `nextAt` is when the deferred row is due.
   */
  record(ownsRow: boolean, nextAt: number): void;
  /** Called once `record` is durable. */
  committed?(): void;
}

export interface AttemptContext {
  /** Commits that the final dot may be written; rejects when that could not be kept, with RowTaken when the row is lost. */
  markPointOfNoReturn(): Promise<void>;
  /** The job leads to this site: what the site allows holds for its lane from now on. */
  locate(site: string): void;
  /** Aborted when the worker stops: an attempt not yet begun should be given back. */
  stopping: AbortSignal;
  /** Aborted when the grace of a stop is over: connections must end now. */
  cutOff: AbortSignal;
}

export interface JobHandler {
  attempt(job: Job, context: AttemptContext): Promise<JobResult>;
  /** Inside a transaction: a crash cut this attempt off after its final dot may have been written. */
  recordUncertain(job: { id: number; attempts: number; startedAt: number; dotAt: number }): void;
  /** By which name the operator knows a row; only asked for to tell of a bug. */
  nameOf?(id: number): string | null;
}
