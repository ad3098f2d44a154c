import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Commit } from "./group-commit.ts";
import { isStorageError } from "./storage-error.ts";

/** How often is looked for rows whose time is over. */
const EVERY_MS = 10 * 60_000;

export interface PurgeLoop {
  commit: Commit;
  clock: Clock;
  log: Log;
}

/**
 * Forgets by and by what is over: `purge`, inside a transaction, removes a share of it and says whether there may be
 * more, which goes at once. `part` names it in the log of bugs. The returned function stops that.
 */
export function purgeRegularly({ commit, clock, log }: PurgeLoop, part: string, purge: () => boolean): () => void {
  let isStopped = false;
  let cancel = clock.after(EVERY_MS, run);
  function run(): void {
    commit(purge).then(
      (hasMore) => again(hasMore ? 0 : EVERY_MS),
      (error: unknown) => {
        if (!isStorageError(error)) log.error(part, error);
        again(EVERY_MS);
      },
    );
  }
  function again(delayMs: number): void {
    // A run that was under way at the stop must not begin another on a database that is closed by then.
    if (!isStopped) cancel = clock.after(delayMs, run);
  }
  return () => {
    isStopped = true;
    cancel();
  };
}
