// The operator's side of a queue: what waits and why, and how a message leaves it by hand.

import type { FindBatchEnd } from "../db/batches.ts";

/** Which messages are meant; null: any. A queue ignores what its messages do not have. */
export interface RowFilter {
  workspaceId: number | null;
  /** Where a message leads, as the overview names it: a recipient domain, or a relay. */
  destination: string | null;
  /** The recipient's address, in the form compared. */
  address: string | null;
  /** What the recipient's number begins with. */
  number: string | null;
  /** Accepted before this, Unix ms. */
  before: number | null;
}

/** Where a walk over a queue stands. Only SMS are walked by `stage` (their status) and `rank` (when they expire). */
export interface WalkPosition {
  stage: number;
  rank: number;
  id: number;
}

export const WALK_START: WalkPosition = { stage: 0, rank: 0, id: 0 };

export interface WaitingRow {
  id: number;
  /** It is being delivered at this moment. */
  isRunning: boolean;
}

export interface QueueSlice {
  /** `position`: a walk that begins there goes on after this row. */
  found: (WaitingRow & { position: WalkPosition })[];
  /** Null: the queue was walked to its end. */
  end: WalkPosition | null;
}

/** A waiting message as the operator's API shows it. */
export interface ShownMessage {
  id: string;
  workspaceId: string | null;
  to: string;
  queuedAt: string;
  state: string;
  attempts: number;
  nextAttemptAt: string | null;
  expiresAt: string | null;
  lastReply: string | null;
}

export interface QueueDepth {
  waiting: number;
  /** More wait than were counted. */
  isMinimum: boolean;
  /** When the oldest was accepted, ISO 8601; null: none waits. */
  oldestAt: string | null;
}

/** `running`: it is being delivered, and was left alone. `gone`: it does not wait. */
export type DropResult = "dropped" | "running" | "gone";

/** A message that the operator may be looking for. */
export interface MessageCandidate {
  uid: string;
  workspaceId: number;
  from: string;
  to: string;
  status: string;
  createdAt: number;
}

export interface QueueAdmin<Overview, Trace> {
  /** What waits, by destination, and why; only the `limit` destinations where most waits. */
  overview(limit: number): Promise<Overview>;
  depth(): QueueDepth;

  /** The last id given out: what comes later is no part of a walk that begins now. */
  lastId(): number;
  /** The next `rows` rows after a position, and which of them match. A filter that few rows match costs no less. */
  list(from: WalkPosition, filter: RowFilter, rows: number): QueueSlice;
  show(ids: number[]): ShownMessage[];
  /** The rows that wait under a message's public id; null: no message has it. */
  find(uid: string): WaitingRow[] | null;

  /** Inside a transaction: ends a waiting message as failed, for this reason. */
  drop(id: number, end: { reason: string; now: number }): DropResult;
  /** Inside a transaction: makes a message that waits for a time due now. Call the result after the commit; null: it does not wait. */
  retry(id: number, now: number): (() => void) | null;

  /** What is known of a message, by its public id; null: nothing. */
  trace(uid: string): Trace | null;
}

/** Lets the event loop serve others. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function earlier(a: number | null, b: number | null | undefined): number | null {
  if (b === undefined || b === null) return a;
  return a === null ? b : Math.min(a, b);
}

/** A walk in the order of ids; `find` gives the rows of a range that match. */
export function walkById(
  findEnd: FindBatchEnd,
  find: (range: RowFilter & { id: number; end: number }) => WaitingRow[],
): QueueAdmin<never, never>["list"] {
  return ({ id }, filter, rows) => {
    const end = findEnd(id, rows);
    const found = find({ ...filter, id, end: end ?? Number.MAX_SAFE_INTEGER });
    return {
      found: found.map((row) => ({ ...row, position: { ...WALK_START, id: row.id } })),
      end: end === null ? null : { ...WALK_START, id: end },
    };
  };
}
