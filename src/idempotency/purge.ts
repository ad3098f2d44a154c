import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { Log } from "../log.ts";
import type { IdempotencyStore } from "./store.ts";

const EVERY_MS = 10 * 60_000;

export interface PurgeParts {
  idempotency: IdempotencyStore;
  commit: Commit;
  clock: Clock;
  log: Log;
  keepMs: number;
}

/** Forgets stored answers whose time is over, a share at a time; the returned function stops that. */
export function purgeAnswers(parts: PurgeParts): () => void {
  let isStopped = false;
  let cancel = parts.clock.after(EVERY_MS, run);
  const again = (afterMs: number) => {
    // A run that was under way at the stop must not begin another on a database that is closed by then.
    if (!isStopped) cancel = parts.clock.after(afterMs, run);
  };
  function run(): void {
    const notBefore = parts.clock.now() - parts.keepMs;
    parts
      .commit(() => parts.idempotency.purge(notBefore))
      .then(
        (hasMore) => again(hasMore ? 0 : EVERY_MS),
        (error: unknown) => {
          if (!isStorageError(error)) parts.log.bug("idempotency", error);
          again(EVERY_MS);
        },
      );
  }
  return () => {
    isStopped = true;
    cancel();
  };
}
