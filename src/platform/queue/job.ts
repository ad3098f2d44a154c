// What goes between a queue and its worker.

/** A claimed row: one attempt at one email. */
export interface Job {
  id: number;
  laneId: number;
  /** 1 for the first attempt. */
  attempt: number;
  startedAt: number;
  /** When it was due, to be put back if the attempt is never begun. */
  dueAt: number;
  /** When the next attempt is due if this one ends without a word. */
  nextAt: number;
  expiresAt: number;
  lastReply: string | null;
  /** DNS said at this time that the domain does not exist; null when it did not. */
  badDomainAt: number | null;
}

/** Somebody else has taken the row of a running attempt off the queue: the attempt must not go on. */
export class RowTaken extends Error {
  override readonly name = "RowTaken";
}

/** An email to be queued; whose it is and when it was made as in its own row. */
export interface NewRow {
  id: number;
  laneId: number;
  workspaceId: number;
  domainId: number;
  createdAt: number;
  nextAt: number;
  expiresAt: number;
}

export interface LaneHead {
  laneId: number;
  dueAt: number;
}

export interface Deferral {
  nextAt: number;
  lastReply: string | null;
  badDomainAt: number | null;
}

/** A row found in flight at start: its attempt was cut off by a crash. */
export interface InterruptedJob {
  id: number;
  attempts: number;
  startedAt: number | null;
  dotAt: number | null;
}

/** Whose a row is. */
export interface RowOwner {
  workspaceId: number;
  domainId: number;
}

/** Told, inside the transaction, what the queue's rows come to. */
export interface QueueCounts {
  /** By how many rows more (1) or less (-1) are delayed. */
  delayed(owner: RowOwner, change: 1 | -1): void;
}

/** One attempt at a row: what ends it is fenced by its number. */
type Attempt = Pick<Job, "id" | "attempt">;

/** What a worker needs of a queue. All of it is called inside a transaction. */
export interface WorkerQueue {
  /** The workspace of a lane; 0: nobody's. */
  workspaceOf(laneId: number): number;
  /** Claims up to `limit` due rows of a lane; `retryAt` says when attempt n would be followed by the next. */
  claim(request: { laneId: number; now: number; limit: number; retryAt: (attempt: number) => number }): Job[];
  /** When the lane's next row is due and when it expires; null when it has none that waits. */
  headOf(laneId: number): { dueAt: number; expiresAt: number } | null;
  /** Notes that the final dot may be written from now on. False: the row is no longer this attempt's. */
  markPointOfNoReturn(attempt: Attempt, now: number): boolean;
  /** Takes the row off the queue. False: it is no longer this attempt's. */
  complete(attempt: Attempt): boolean;
  /** Puts the row back for its next attempt. False: it is no longer this attempt's. */
  retry(attempt: Attempt, deferral: Deferral): boolean;
  /** Undoes the claim of an attempt that was never begun. */
  release(job: Job): void;
  /** Every lane with waiting rows and when its first one is due. */
  heads(): LaneHead[];
  /** What a crash left in flight, and what runs. */
  inFlight(): InterruptedJob[];
  /**
   * Frees a row that a crash left in flight; `nextAt` null keeps the time its claim has set. Where and when it waits;
   * null: it was freed before, is another attempt's by now, or gone.
   */
  freeInterrupted(row: Pick<InterruptedJob, "id" | "attempts">, nextAt: number | null): LaneHead | null;
  /** The clock was set back: of the rows behind the id `after`; the last one looked at, or null when there are no more. */
  bringNear(after: number, now: number): number | null;
}
