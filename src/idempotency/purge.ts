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
  let cancel = parts.clock.after(EVERY_MS, run);
  function run(): void {
    const notBefore = parts.clock.now() - parts.keepMs;
    parts
      .commit(() => parts.idempotency.purge(notBefore))
      .then(
        (hasMore) => {
          cancel = parts.clock.after(hasMore ? 0 : EVERY_MS, run);
        },
        (error: unknown) => {
          if (!isStorageError(error)) parts.log.bug("idempotency", error);
          cancel = parts.clock.after(EVERY_MS, run);
        },
      );
  }
  return () => cancel();
}
