// Errors of the storage under SQLite, as opposed to a wrong statement or value.

import { SQLiteError } from "bun:sqlite";

const STORAGE_CODES = /^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|NOMEM|BUSY|LOCKED|CORRUPT|NOTADB|PROTOCOL)/;

/**
 * A COMMIT that fails with one of these has kept nothing. After the others (a write or a sync that failed) the
 * transaction may stand whole in the write-ahead log: here it counts as rolled back, and the next commit overwrites it;
 * but a start that comes before that finds it there and takes it for committed.
 */
const ROLLED_BACK_CODES = /^SQLITE_(FULL|READONLY|BUSY|LOCKED|CONSTRAINT)/;

/** A transaction that could not be made durable; nothing of it was kept, unless `isUnknown`. */
export class StorageError extends Error {
  /** SQLite's code, for example SQLITE_FULL. */
  readonly code: string;
  /** A crash now may bring it back: it is not known whether it was kept. */
  readonly isUnknown: boolean;

  constructor(cause: unknown, { isCommit = false } = {}) {
    const code = getSqliteCode(cause);
    super(`the database cannot be written: ${code} ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = "StorageError";
    this.code = code;
    this.isUnknown = isCommit && !ROLLED_BACK_CODES.test(code);
  }
}

/** It is committed here; but the replica, which must have it too, did not take it in time ([replication] acknowledge). */
export class NotReplicatedError extends StorageError {
  constructor(reason: string) {
    super(new Error(reason), { isCommit: true });
    this.name = "NotReplicatedError";
    this.message = reason;
  }
}

export function isStorageError(error: unknown): boolean {
  return error instanceof StorageError || STORAGE_CODES.test(getSqliteCode(error));
}

function getSqliteCode(error: unknown): string {
  const root = findSqliteError(error);
  return root === null ? "ERROR" : (root.code ?? "SQLITE_ERROR");
}

/** drizzle wraps the driver's errors, once. */
const MAX_WRAPPERS = 5;

export function findSqliteError(error: unknown): SQLiteError | null {
  for (let root = error, depth = 0; root instanceof Error && depth < MAX_WRAPPERS; root = root.cause, depth += 1)
    if (root instanceof SQLiteError) return root;
  return null;
}
