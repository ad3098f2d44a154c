import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";

// Who brings the write-ahead log into the database: this connection, or the replication daemon while it runs.

interface Connection {
  sqlite: Database;
}

/**
 * Pages (of 4 KiB) in the write-ahead log before it is brought into the database. What a busy second writes
 * again and again is brought in once; SQLite's own 1,000 are full after some twenty transactions.
 */
export const CHECKPOINT_PAGES = 4_000;

/** The daemon does it: what another brings in behind its back costs it a new whole copy. */
export function leaveCheckpoints({ sqlite }: Connection): void {
  sqlite.run("PRAGMA wal_autocheckpoint = 0");
}

/** This connection does it from now on, at first what there is; the loop stands still meanwhile. */
export function takeCheckpoints({ sqlite }: Connection): void {
  sqlite.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  sqlite.run("PRAGMA wal_checkpoint(PASSIVE)");
}

/** Rows changed over this connection so far. */
export function changesSoFar({ sqlite }: Connection): number {
  return sqlite.query<{ changes: number }, []>("SELECT total_changes() AS changes").get()?.changes ?? 0;
}

export function walBytesOf(databaseFile: string): number {
  return statSync(`${databaseFile}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
