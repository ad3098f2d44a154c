import { BackgroundTask } from "../background-task.ts";
import type { Context } from "../context.ts";

const EVERY_MS = 10 * 60_000;

export type PurgeLoop = Pick<Context, "commit" | "clock" | "log">;

/**
 * Removes rows whose time is over: `purge`, inside a transaction, removes a batch and answers whether there may be
 * more, which goes at once. `name` is for the log. The returned function stops it.
 */
export function purgeRegularly({ commit, clock, log }: PurgeLoop, name: string, purge: () => boolean): () => void {
  const run = async () => ((await commit(purge)) ? 0 : EVERY_MS);
  const task = new BackgroundTask({ name, clock, log, run });
  task.start(EVERY_MS);
  return () => void task.stop();
}
