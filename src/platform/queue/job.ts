// The port between the worker and the queue of a module.

/** A claimed row: one attempt. `State` is what the queue keeps of a row between its attempts; the worker only passes it on. */
export interface Job<State = unknown> {
  id: number;
  laneId: number;
  /** 1 for the first attempt. */
  attempt: number;
  startedAt: number;
  /** When it was due; a released row is due then again. */
  dueAt: number;
  /** When the next attempt is due if this one ends without a result. */
  nextAt: number;
  /** Infinity: never. */
  expiresAt: number;
  state: State;
}

/** The row of a running attempt was taken off the queue by somebody else: the attempt must not go on. */
export class RowTaken extends Error {
  override readonly name = "RowTaken";
}

export interface LaneHead {
  laneId: number;
  dueAt: number;
}

/** A row found in flight at the start: a crash cut its attempt off. */
export interface InterruptedJob {
  id: number;
  attempts: number;
  startedAt: number | null;
  /** When the attempt passed its point of no return; absent or null: it certainly had no effect. */
  uncertainSince?: number | null;
}

/** One attempt at a row: its number fences everything that ends it. */
type Attempt = Pick<Job, "id" | "attempt">;

/** The queue as a worker uses it. Every method runs inside a transaction. */
export interface WorkerQueue<State = unknown> {
  /** The workspace of a lane; 0: none. */
  findWorkspace(laneId: number): number;
  /**
   * Claims up to `limit` due rows of a lane: counts the attempt and postpones the row, so that there are no leases. `retryAt`
   * says when attempt n would be followed by the next.
   */
  claim(request: { laneId: number; now: number; limit: number; retryAt: (attempt: number) => number }): Job<State>[];
  /** When the lane's next waiting row is due and when it expires; null: none waits. */
  findHead(laneId: number): { dueAt: number; expiresAt: number } | null;
  /** The attempt may have an effect from now on. False: the row is no longer this attempt's. Absent: no attempt is ever uncertain. */
  markPointOfNoReturn?(attempt: Attempt, now: number): boolean;
  /** Takes the row off the queue. False: it is no longer this attempt's. */
  complete(attempt: Attempt): boolean;
  /** Puts the row back for its next attempt. False: it is no longer this attempt's. */
  retry(attempt: Attempt, next: { nextAt: number; state: State }): boolean;
  /** Undoes the claim of an attempt that was not begun. */
  release(attempt: Attempt & { dueAt: number }): void;
  /** Every lane with waiting rows and when its first one is due. */
  listHeads(): LaneHead[];
  /** Rows in flight: those that a crash left so, and those of running attempts. */
  listInFlight(): InterruptedJob[];
  /**
   * Frees a row that a crash left in flight; `nextAt` null keeps the time that its claim has set. Returns where and when it
   * waits; null: it was freed before, belongs to another attempt by now, or is gone.
   */
  freeInterrupted(row: Pick<InterruptedJob, "id" | "attempts">, nextAt: number | null): LaneHead | null;
  /**
   * The clock was set back: shortens the waits that began in what is the future now, in a batch of rows behind the id `after`.
   * Returns the last id looked at; null: there are no more.
   */
  rescheduleBatch(after: number, now: number): number | null;
}
