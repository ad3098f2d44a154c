import { Database } from "bun:sqlite";
import { closeSync, existsSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { dirname } from "node:path";
import { StartError } from "../errors.ts";

// A copy of the whole database beside it, for one who is about to change it and may want it back. Only for the
// holder of the directory's lock while nothing has the database open: the write-ahead log is brought in first,
// so that the file alone is the database, and a file can be put in its place whole.
//
// Not VACUUM INTO: it reads and writes every row, and a copy of the file is often a matter of the file system.

const BUSY_TIMEOUT_MS = 5_000;

/** What a copy of the database takes, in bytes. */
export function databaseBytes(file: string): number {
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

/** Copies `file` to `copy`, which is there, synced and whole, or not at all. Throws StartError with the cure. */
export async function copyDatabase(file: string, copy: string, patienceMs = BUSY_TIMEOUT_MS): Promise<void> {
  bringInLog(file, patienceMs);
  const draft = `${copy}.new`;
  rmSync(draft, { force: true });
  try {
    // Made here, for the owner alone, so that what is copied was never readable by others.
    closeSync(openSync(draft, "wx", 0o600));
    await copyFile(file, draft);
    syncFile(draft, 0o600);
    renameSync(draft, copy);
    syncFolderOf(copy);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Puts `copy` in the place of `file`, and takes away what belonged to that. Cut off anywhere it can be done again:
 * the copy is used up by the last step. False: there is no copy, it was done before.
 */
export function putDatabaseBack(file: string, copy: string): boolean {
  if (!existsSync(copy)) return false;
  // First: a log that outlived its database would be applied to the copy, and ruin it.
  for (const beside of ["-wal", "-shm"]) rmSync(file + beside, { force: true });
  syncFolderOf(file);
  renameSync(copy, file);
  syncFolderOf(file);
  return true;
}

/** How many migrations a database has. */
export function readSchema(file: string): number {
  using sqlite = new Database(file, { readwrite: true });
  return sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

function bringInLog(file: string, patienceMs: number): void {
  const sqlite = new Database(file, { readwrite: true });
  try {
    sqlite.run(`PRAGMA busy_timeout = ${patienceMs}`);
    const done = sqlite.query<{ busy: number }, []>("PRAGMA wal_checkpoint(TRUNCATE)").get();
    if (done?.busy === 0) return;
  } finally {
    sqlite.close();
  }
  throw new StartError(
    `Something other than pombo has ${file} open: end it (a shell of sqlite3, a backup program), then try again.`,
  );
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
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

/** Without it a name may be lost at a power cut, though what it names is safe. */
export function syncFolderOf(file: string): void {
  const descriptor = openSync(dirname(file), "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
