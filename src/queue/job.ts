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
