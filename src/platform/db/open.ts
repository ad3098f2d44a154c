// Opens the one database connection of the process, and migrates the database to the schema of this binary.

import { constants, Database } from "bun:sqlite";
import { chmodSync, closeSync, lstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { FinalStartError, StartError } from "../errors.ts";
import { CHECKPOINT_PAGES, disableCheckpoints } from "./wal.ts";
import { Changes } from "./changes.ts";
import { computeFingerprint, MIGRATIONS } from "./schema/migrations.ts";
import { openOrm, type Orm } from "./orm.ts";
import { requireDatabaseFile, requireOwnDatabase, toStartError } from "./file/unusable-file.ts";

/** Older SQLite can corrupt a WAL database when two connections commit and checkpoint at once. */
const OLDEST_SQLITE = "3.51.3";
const BUSY_TIMEOUT_MS = 5_000;
const JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024;
/** A cache of pages, which grows with use. SQLite's own 2 MiB are fewer than a busy second touches. */
const CACHE_KIB = 8 * 1024;

export function databaseFile(dataDir: string): string {
  return join(dataDir, "pombo.db");
}

/** Follows what becomes of the closures of a transaction. */
export interface TransactionListener {
  /** The closure's savepoint was released. */
  onRelease?(): void;
  /** The closure was rolled back. */
  onRollbackTo(): void;
  /** Time to write, before the COMMIT. */
  beforeCommit?(): void;
  /** The transaction was rolled back. */
  onRollback(): void;
  /** The transaction stands in the log; its sync may be under way. */
  onCommit?(): void;
}

export interface Db {
  orm: Orm;
  /** For transactions and pragmas: only here in platform/db. */
  sqlite: Database;
  /** Called by the committer. */
  listeners: TransactionListener[];
  /** Stores note in it what they change of a workspace. */
  changes: Changes;
  close(): void;
}

/**
 * Opens (or creates, 0600) the database file and applies the migrations it lacks. Throws StartError
 * when it cannot be used (platform/db/file/unusable-file.ts), belongs to a newer pombo or to a build that was never released, or the SQLite
 * here is too old. `isReplicated`: Litestream checkpoints its write-ahead log.
 */
export function openDatabase(file: string, { isReplicated = false } = {}): Db {
  try {
    if (file !== ":memory:") prepareFile(file);
    return openSqlite(file, isReplicated);
  } catch (error) {
    throw toStartError(error, file) ?? error;
  }
}

/**
 * Creates the file with 0600 before SQLite would create it with the umask; -wal and -shm inherit the mode. Only SQLite
 * opens an existing one: POSIX drops all locks that the process has on a file when it closes any descriptor of it, also
 * those of a connection that was closed and waits for its statements to be collected. Without them an sqlite3 that
 * somebody ends beside us deletes the log.
 */
function prepareFile(file: string): void {
  if (!requireDatabaseFile(file)) closeSync(openSync(file, "ax", 0o600));
  if ((lstatSync(file).mode & 0o777) !== 0o600) chmodSync(file, 0o600);
}

function openSqlite(file: string, isReplicated: boolean): Db {
  const sqlite = new Database(file, { create: true, readwrite: true, strict: true });
  try {
    // Before the pragmas: one of them writes to the file.
    const version = readPragma(sqlite, "user_version");
    requireOwnDatabase(sqlite, file, version);
    requireKnown(sqlite, file, version);
    applyPragmas(sqlite);
    // -wal and -shm outlive the last connection: on a full disk a start could not create them again.
    sqlite.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    if (isReplicated) keepLog(sqlite);
    requireSqlite(sqlite);
    migrate(sqlite, version);
  } catch (error) {
    sqlite.close();
    throw error;
  }
  const changes = new Changes();
  return { orm: openOrm(sqlite), sqlite, listeners: [changes], changes, close: () => sqlite.close() };
}

function applyPragmas(sqlite: Database): void {
  // Takes effect only before the first table, and writes to the file each time.
  if (readPragma(sqlite, "page_count") === 0) sqlite.run("PRAGMA auto_vacuum = INCREMENTAL");
  for (const pragma of [
    `busy_timeout = ${BUSY_TIMEOUT_MS}`,
    "journal_mode = WAL",
    "synchronous = FULL", // in WAL, NORMAL does not sync commits: a power cut could lose an accepted 202
    "foreign_keys = ON",
    "temp_store = MEMORY",
    `cache_size = -${CACHE_KIB}`,
    "trusted_schema = OFF",
    "secure_delete = ON", // what is deleted is overwritten with zeros: docs/adr/036-erasure.md
    `journal_size_limit = ${JOURNAL_LIMIT_BYTES}`,
    `wal_autocheckpoint = ${CHECKPOINT_PAGES}`,
  ]) {
    sqlite.run(`PRAGMA ${pragma}`);
  }
}

/**
 * The log is not emptied with the last connection, so that Litestream goes on where it was. Otherwise each command
 * of the operator's while pombo is stopped would cost a new snapshot.
 */
function keepLog(sqlite: Database): void {
  sqlite.run("PRAGMA journal_size_limit = -1");
  disableCheckpoints({ sqlite });
}

function requireSqlite(sqlite: Database): void {
  const row = sqlite.query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  const found = row?.version ?? "0";
  if (Bun.semver.order(found, OLDEST_SQLITE) < 0) {
    throw new StartError(`SQLite ${found} is too old: pombo needs ${OLDEST_SQLITE} or later. Use the released binary.`);
  }
}

function requireKnown(sqlite: Database, file: string, version: number): void {
  if (version > MIGRATIONS.length) {
    throw new FinalStartError(
      `The database ${file} was written by a newer pombo (schema ${version}; this one knows ${MIGRATIONS.length}). ` +
        "Start the newer pombo again, or restore a backup made before the update.",
    );
  }
  if (version > 0 && readPragma(sqlite, "application_id") !== computeFingerprint(version)) {
    throw new FinalStartError(
      `The database ${file} was made by an unreleased build of pombo, whose tables were others: this one cannot use it. ` +
        "Begin with a new folder (pombo dev: another --data; pombo serve: another data_dir, then pombo init), or start the build that made it.",
    );
  }
}

/** The value of a pragma that is a number. */
export function readPragma(sqlite: Database, name: string): number {
  return Object.values(sqlite.query<Record<string, number>, []>(`PRAGMA ${name}`).get() ?? {})[0] ?? 0;
}

function migrate(sqlite: Database, version: number): void {
  for (const [index, migration] of MIGRATIONS.entries()) {
    if (index < version) continue;
    sqlite.transaction(() => {
      sqlite.run(migration.sql);
      sqlite.run(`PRAGMA user_version = ${index + 1}`);
      sqlite.run(`PRAGMA application_id = ${computeFingerprint(index + 1)}`);
    })();
  }
}

/** Empties the write-ahead log first, so that the file holds the whole database without it; where it is replicated the log stays. */
export function closeDatabase(db: Db, { isReplicated = false } = {}): void {
  try {
    if (isReplicated) return;
    db.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // A full disk: the log stays, and the next start reads it.
  } finally {
    db.close();
  }
}
