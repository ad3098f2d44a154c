// Removes rows whose time is over, in batches, as background tasks.

import { BackgroundTask } from "../background-task.ts";
import type { Context } from "../context.ts";
import type { SkippedRows } from "./skipped-rows.ts";
import { isStorageError } from "./storage-error.ts";

export const PURGE_EVERY_MS = 10 * 60_000;
/** Mail goes first after a start. */
const FIRST_PASS_MS = 60_000;
/** Begins with the first pass some time after its start. */
export interface PurgeTask {
  start(): void;
  stop(): Promise<void>;
}

/** The time that a batch may take without its COMMIT. More rows share more pages: fewer bytes go to the log (docs/adr/034). */
const BATCH_MS = 3;
/** Between two batches of a table with millions of rows others are served: for at least so long, and 19 times as long as the batch took. */
const MIN_PAUSE_MS = 20;
const PAUSE_FACTOR = 19;
const FIRST_ROWS = 50;
const MIN_ROWS = 10;
const MAX_ROWS = 200;

/**
 * Removes rows whose time is over: `purge`, inside a transaction, removes a batch and answers whether there may be
 * more, which goes at once. `name` is for the log.
 */
export function createPurge(
  { commit, clock, log }: Pick<Context, "commit" | "clock" | "log">,
  name: string,
  purge: () => boolean,
): PurgeTask {
  const run = async () => ((await commit(purge)) ? 0 : PURGE_EVERY_MS);
  const task = new BackgroundTask({ name, clock, log, run });
  return { start: () => task.start(PURGE_EVERY_MS), stop: () => task.stop() };
}

/** Rows of a table, in the order of their ids. */
export interface Walk<Row extends { id: number; createdAt: number }> {
  /** The first rows behind an id. */
  find(after: number, limit: number): Row[];
  /** Removes those of these whose time ended before `notBefore`. */
  remove(rows: Row[], notBefore: number): void;
}

/** Inside a transaction: one batch. The last id that it looked at; null: it has come to rows that are too young. */
export function walkBatch<Row extends { id: number; createdAt: number }>(
  walk: Walk<Row>,
  { after, limit, notBefore }: { after: number; limit: number; notBefore: number },
): number | null {
  const rows = walk.find(after, limit);
  walk.remove(rows, notBefore);
  const last = rows.at(-1);
  return last === undefined || rows.length < limit || last.createdAt >= notBefore ? null : last.id;
}

export interface WalkingPurgeDeps extends Pick<Context, "commit" | "clock" | "steady" | "log"> {
  /** Keeps rows that cannot be removed. */
  skipped: Pick<SkippedRows, "try">;
}

/**
 * The same for rows that are walked in the order of their ids, in batches whose size follows the time that they take. After
 * an internal error each row of a batch has a transaction of its own.
 */
export function createWalkingPurge<Row extends { id: number; createdAt: number }>(
  { commit, clock, steady, log, skipped }: WalkingPurgeDeps,
  name: string,
  walk: Walk<Row>,
  notBefore: () => number,
): PurgeTask {
  let after = 0;
  let limit = FIRST_ROWS;
  const purgeBatch = () => {
    const startedAt = steady.now();
    const last = walkBatch(walk, { after, limit, notBefore: notBefore() });
    return { last, tookMs: steady.now() - startedAt };
  };
  const purgeRowByRow = async () => {
    const rows = await commit(() => walk.find(after, limit));
    for (const row of rows) await skipped.try(name, row.id, () => walk.remove([row], notBefore()));
    return rows.length < limit ? null : (rows.at(-1)?.id ?? null);
  };
  const task = new BackgroundTask({
    name,
    clock,
    log,
    async run() {
      let last: number | null;
      let pauseMs = MIN_PAUSE_MS;
      try {
        // The walk advances only once its batch is committed.
        const batch = await commit(purgeBatch);
        ({ last } = batch);
        limit = adjustLimit(limit, batch.tookMs);
        pauseMs = Math.max(pauseMs, PAUSE_FACTOR * batch.tookMs);
      } catch (error) {
        if (isStorageError(error)) throw error;
        last = await purgeRowByRow();
      }
      after = last ?? 0;
      return last === null ? PURGE_EVERY_MS : pauseMs;
    },
  });
  return { start: () => task.start(FIRST_PASS_MS), stop: () => task.stop() };
}

/** Quickly down, slowly up: one slow batch may be the disk's. */
function adjustLimit(limit: number, tookMs: number): number {
  const rows = tookMs > BATCH_MS ? limit / 2 : limit + 5;
  return Math.round(Math.min(MAX_ROWS, Math.max(MIN_ROWS, rows)));
}
