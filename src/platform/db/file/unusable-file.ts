// Why a database file cannot be used: errors that say what was found and what to do.

import type { Database } from "bun:sqlite";
import { lstatSync, type Stats } from "node:fs";
import { FinalStartError, StartError } from "../../errors.ts";
import { findSqliteError } from "../storage-error.ts";

// Where only a person can change it the error is final, so that systemd does not start pombo again and again.

const SIDE_FILES = ["-wal", "-shm"];

/** Before it is opened. False: there is no file. Throws StartError where something else stands in its place. */
export function requireDatabaseFile(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return false;
  for (const path of [file, ...SIDE_FILES.map((end) => file + end)]) {
    const stats = path === file ? found : lstatSync(path, { throwIfNoEntry: false });
    if (stats !== undefined) requireOwnFile(path, stats);
  }
  // SQLite would take it for a new database and delete the log beside it; so it would with a single byte.
  if (found.size > 1) return true;
  throw new FinalStartError(
    `The database ${file} is empty, and pombo never leaves an empty one. If pombo was never used here, delete it and run pombo init again. ${describeRestore(file)}`,
  );
}

function requireOwnFile(path: string, stats: Stats): void {
  if (!stats.isFile()) {
    const what = stats.isSymbolicLink() ? "a link" : stats.isDirectory() ? "a folder" : "no plain file";
    throw new FinalStartError(
      `${path} is ${what}, where a file of the database must be. Find out who put it there; put the file itself back, or set data_dir to the folder that holds it.`,
    );
  }
  const own = process.geteuid?.();
  if (own === 0 || stats.uid === own) return;
  throw new FinalStartError(
    `${path} belongs to another user (uid ${stats.uid}), and pombo runs as uid ${own}: give it back (chown ${own} ${path}), or run pombo as the user that the data directory belongs to. A program that was run there as root, such as sqlite3, leaves files like this.`,
  );
}

/** Before anything is written to it: whether it is a database of pombo's at all. `version`: its migrations. */
export function requireOwnDatabase(sqlite: Database, file: string, version: number): void {
  const tables = sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => name);
  // The table has been there since the first version.
  if (tables.includes("instance") || (version === 0 && tables.length === 0)) return;
  throw new FinalStartError(
    `${file} is a database, but not pombo's: it was put there by mistake, or data_dir names the wrong folder. ${describeRestore(file)}`,
  );
}

/** The StartError for an error of SQLite's, or of the system's about the file; null: it is another error. */
export function toStartError(error: unknown, file: string): StartError | null {
  const root = findSqliteError(error);
  if (root === null)
    return (error as NodeJS.ErrnoException).path === file
      ? createUnreadableError(file, (error as Error).message)
      : null;
  const { code = "" } = root;
  const said = `${root.message.replace(/\.$/, "")}, ${code}`;
  if (code === "SQLITE_NOTADB")
    return new FinalStartError(
      `${file} is not a database: it is another file, or its beginning was overwritten (${said}). ${describeRestore(file)}`,
    );
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_IOERR_SHORT_READ")
    return new FinalStartError(
      `The database ${file} is damaged: it was cut off, or parts of it were overwritten (${said}). ${describeRestore(file)}`,
    );
  if (code.startsWith("SQLITE_FULL"))
    return new StartError(`The database ${file} cannot be written: the disk is full (${said}). Make room.`);
  if (/^SQLITE_(READONLY|CANTOPEN|IOERR|PERM|AUTH)/.test(code)) return createUnreadableError(file, said);
  return null;
}

function createUnreadableError(file: string, said: string): StartError {
  return new StartError(
    `The database ${file} cannot be read or written (${said}): see that its disk is well and not mounted read-only, and that ${file}, ${SIDE_FILES.map((end) => file + end).join(", ")} and their folder belong to the user that pombo runs as.`,
  );
}

function describeRestore(file: string): string {
  return `Keep ${file} and the files beside it (${SIDE_FILES.map((end) => `${file}${end}`).join(", ")}): move them away. Then bring the database back from its replica with pombo restore, or put your last backup of it there.`;
}
