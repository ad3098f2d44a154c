import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { Log } from "../log.ts";
import type { InboxStore } from "./store.ts";

const EVERY_MS = 10 * 60_000;
const KEEP_MS = 30 * 86_400_000;

export interface PurgeParts {
  inbox: InboxStore;
  commit: Commit;
  clock: Clock;
  log: Log;
}

/** Forgets the operator's mail after 30 days, a share at a time; the returned function stops that. */
export function purgeInbox({ inbox, commit, clock, log }: PurgeParts): () => void {
  let isStopped = false;
  let cancel = clock.after(EVERY_MS, run);
  function again(delayMs: number): void {
    if (!isStopped) cancel = clock.after(delayMs, run);
  }
  function run(): void {
    const notBefore = clock.now() - KEEP_MS;
    commit(() => inbox.purge(notBefore)).then(
      (hasMore) => again(hasMore ? 0 : EVERY_MS),
      (error: unknown) => {
        if (!isStorageError(error)) log.bug("inbox", error);
        again(EVERY_MS);
      },
    );
  }
  return () => {
    isStopped = true;
    cancel();
  };
}
