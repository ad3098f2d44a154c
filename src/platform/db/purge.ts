import { BackgroundTask } from "../background-task.ts";
import type { Context } from "../context.ts";

export const PURGE_EVERY_MS = 10 * 60_000;
/** Begins with the first pass after ten minutes. */
export interface PurgeTask {
  start(): void;
  stop(): Promise<void>;
}

/** Between two batches of a table with millions of rows: others are served then. */
const PAUSE_MS = 20;

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

/**
 * The same for rows that are walked in the order of their ids: `purge` looks at the batch behind an id (0: from the first
 * on) and answers with the last id that it looked at; null: it has come to rows that are too young.
 */
export function createWalkingPurge(
  { commit, clock, log }: Pick<Context, "commit" | "clock" | "log">,
  name: string,
  purge: (after: number) => number | null,
): PurgeTask {
  let after = 0;
  const task = new BackgroundTask({
    name,
    clock,
    log,
    async run() {
      // The walk advances only once its batch is committed.
      const last = await commit(() => purge(after));
      after = last ?? 0;
      return last === null ? PURGE_EVERY_MS : PAUSE_MS;
    },
  });
  return { start: () => task.start(PURGE_EVERY_MS), stop: () => task.stop() };
}
