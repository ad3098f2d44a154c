import { BackgroundTask } from "../background-task.ts";
import type { Component, Context } from "../context.ts";

const EVERY_MS = 10 * 60_000;

/**
 * Removes rows whose time is over: `purge`, inside a transaction, removes a batch and answers whether there may be
 * more, which goes at once. `name` is for the log.
 */
export function createPurge(
  { commit, clock, log }: Pick<Context, "commit" | "clock" | "log">,
  name: string,
  purge: () => boolean,
): Required<Pick<Component, "start" | "stop">> {
  const run = async () => ((await commit(purge)) ? 0 : EVERY_MS);
  const task = new BackgroundTask({ name, clock, log, run });
  return { start: () => task.start(EVERY_MS), stop: () => task.stop() };
}
