// The write-ahead log: who checkpoints it, how large it is, and its rewrite at a start.

import type { Database } from "bun:sqlite";
import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { getFileSize } from "../data-files.ts";

interface Connection {
  sqlite: Database;
}

/**
 * Pages (of 4 KiB) in the log before it is checkpointed. A page that a busy second writes again and again is copied
 * once; SQLite's own 1,000 are full after some twenty transactions.
 */
export const CHECKPOINT_PAGES = 4_000;
const CHUNK_BYTES = 1024 * 1024;

/** While Litestream runs only it checkpoints: a checkpoint that it did not make costs it a new snapshot. */
export function disableCheckpoints({ sqlite }: Connection): void {
  sqlite.run("PRAGMA wal_autocheckpoint = 0");
}

/** Checkpoints at once what is in the log; the event loop waits for that. */
export function enableCheckpoints({ sqlite }: Connection): void {
  sqlite.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  sqlite.run("PRAGMA wal_checkpoint(PASSIVE)");
}

/** Rows changed over this connection so far. */
export function countChanges({ sqlite }: Connection): number {
  return sqlite.query<{ changes: number }, []>("SELECT total_changes() AS changes").get()?.changes ?? 0;
}

export function getWalBytes(databaseFile: string): number {
  return getFileSize(`${databaseFile}-wal`);
}

/**
 * Writes the log of an earlier run again, with the same bytes, and syncs it. SQLite takes what it finds in the log for
 * durable and appends to it. After a sync that failed this is not so: the system may show a page that it never wrote
 * and will not write any more, since it counts as written; a power cut would then cut the log off in front of
 * everything that was accepted later.
 */
export function rewriteWal({ sqlite }: Connection, databaseFile: string): void {
  // Its lock keeps others from appending to the log or restarting it meanwhile.
  sqlite.run("BEGIN IMMEDIATE");
  try {
    rewriteFile(`${databaseFile}-wal`);
  } finally {
    sqlite.run("ROLLBACK");
  }
}

function rewriteFile(file: string): void {
  const descriptor = openSync(file, "r+");
  try {
    const { size } = fstatSync(descriptor);
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size));
    for (let at = 0; at < size;) {
      const length = readSync(descriptor, chunk, 0, Math.min(chunk.length, size - at), at);
      if (length === 0) break;
      writeWhole(descriptor, chunk.subarray(0, length), at);
      at += length;
    }
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function writeWhole(descriptor: number, bytes: Uint8Array, at: number): void {
  for (let written = 0; written < bytes.length;) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, at + written);
  }
}
