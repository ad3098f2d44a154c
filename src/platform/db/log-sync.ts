// Syncs the write-ahead log in a thread of the runtime, so that the event loop does not wait for the disk.

import type { Database } from "bun:sqlite";
import { closeSync, fdatasync, openSync } from "node:fs";

/** A call that succeeds makes all earlier commits durable. After one that failed nothing is known: see docs/adr/017. */
export interface LogSync {
  /** Calls `done` with null, or with why the log could not be synced. */
  sync(done: (error: Error | null) => void): void;
  close(): void;
}

/**
 * From now on a COMMIT of this connection writes the log and leaves its sync to the caller. SQLite still syncs the log
 * before it copies pages from it, and its header when it begins the log anew.
 */
export function takeOverSync(sqlite: Database): LogSync {
  const descriptor = openSync(`${sqlite.filename}-wal`, "r+");
  sqlite.run("PRAGMA synchronous = NORMAL");
  return {
    sync: (done) => fdatasync(descriptor, (error) => done(error ?? null)),
    close: () => closeSync(descriptor),
  };
}
