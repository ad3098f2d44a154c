// A copy of the whole database beside it, and its way back.

import { Database } from "bun:sqlite";
import { closeSync, existsSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { dirname } from "node:path";
import { getFileSize } from "../../data-files.ts";
import { StartError } from "../../errors.ts";

// Only for the holder of the directory's lock while nothing has the database open: the write-ahead log is checkpointed
// first, so that the file is the whole database.
//
// Not VACUUM INTO: it reads and writes every row, and many file systems copy a file without reading it.

const BUSY_TIMEOUT_MS = 5_000;

/** The bytes that a copy of the database takes. */
export function getDatabaseBytes(file: string): number {
  return getFileSize(file) + getFileSize(`${file}-wal`);
}

/** Copies `file` to `copy`, which is there, synced and whole, or not at all. Throws StartError with the cure. */
export async function copyDatabase(file: string, copy: string, patienceMs = BUSY_TIMEOUT_MS): Promise<void> {
  checkpoint(file, patienceMs);
  const draft = `${copy}.new`;
  rmSync(draft, { force: true });
  try {
    // Made here, for the owner alone, so that what is copied was never readable by others.
    closeSync(openSync(draft, "wx", 0o600));
    await copyFile(file, draft);
    syncFile(draft, 0o600);
    renameSync(draft, copy);
    syncFolder(copy);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Moves `copy` to `file` and removes that one's log. When it is interrupted it can be done again: the last step uses the
 * copy up. False: there is no copy, it was done before.
 */
export function putDatabaseBack(file: string, copy: string): boolean {
  if (!existsSync(copy)) return false;
  // First: a log that outlived its database would be applied to the copy, and ruin it.
  for (const beside of ["-wal", "-shm"]) rmSync(file + beside, { force: true });
  syncFolder(file);
  renameSync(copy, file);
  syncFolder(file);
  return true;
}

/** How many migrations a database has. */
export function readSchemaVersion(file: string): number {
  using sqlite = new Database(file, { readwrite: true });
  return sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

function checkpoint(file: string, patienceMs: number): void {
  using sqlite = new Database(file, { readwrite: true });
  sqlite.run(`PRAGMA busy_timeout = ${patienceMs}`);
  const done = sqlite.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get();
  if (done?.busy === 0) return;
  throw new StartError(
    `Something other than pombo has ${file} open: end it (a shell of sqlite3, a backup program), then try again.`,
  );
}

function syncFile(file: string, mode: number): void {
  const descriptor = openSync(file, "r+");
  try {
    fchmodSync(descriptor, mode);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Without it a power cut may lose the file's name, though its content is safe. */
export function syncFolder(file: string): void {
  const descriptor = openSync(dirname(file), "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
