// A consistent copy of a database that may be in use, made beside the process that uses it.

import { Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { getErrorMessage, StartError } from "../../errors.ts";
import { syncFolder } from "./snapshot.ts";

/**
 * Copies `file` to `copy` as it is at this moment; its bytes. The copy has no free pages and no write-ahead log, only its
 * owner may read it, and it is on the disk before it has its name. Throws StartError; an existing file is never replaced.
 */
export function copyLiveDatabase(file: string, copy: string): number {
  if (existsSync(copy)) throw new StartError(`${copy} exists already: name another file, or move that one away.`);
  // Its own name: a file called like it may be somebody's.
  const draft = `${copy}.${Bun.randomUUIDv7()}.new`;
  try {
    // Made here first: SQLite would make it with the umask, and it holds what people were sent.
    closeSync(openSync(draft, "wx", 0o600));
  } catch (error) {
    throw noCopy(copy, error);
  }
  try {
    // Read-only: the last connection of a stopped instance would otherwise empty its log, which Litestream needs.
    using sqlite = new Database(file, { readonly: true });
    sqlite.query("VACUUM INTO ?").run(draft);
    chmodSync(draft, 0o600);
    syncFile(draft);
    renameSync(draft, copy);
    syncFolder(copy);
    return statSync(copy).size;
  } catch (error) {
    rmSync(draft, { force: true });
    throw noCopy(copy, error);
  }
}

function noCopy(copy: string, error: unknown): StartError {
  return new StartError(`No copy was made at ${copy}: ${getErrorMessage(error)}.`);
}

function syncFile(file: string): void {
  const descriptor = openSync(file, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
