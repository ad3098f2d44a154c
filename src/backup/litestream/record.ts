// A database of one record, which the daemon replicates: the owner of a lineage, and the catalog of lineages.

import { constants, Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, rmSync } from "node:fs";

export function writeRecord(file: string, record: unknown): void {
  // Not one that is there: its locks would be gone (platform/db/open.ts).
  if (!existsSync(file)) closeSync(openSync(file, "ax", 0o600));
  const database = new Database(file, { create: true });
  try {
    database.run("PRAGMA journal_mode = WAL");
    database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    database.run("PRAGMA wal_autocheckpoint = 0");
    database.run("PRAGMA busy_timeout = 5000");
    database.run(
      "CREATE TABLE IF NOT EXISTS record (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT NOT NULL) STRICT",
    );
    database.query("INSERT OR REPLACE INTO record (id, value) VALUES (1, ?)").run(JSON.stringify(record));
  } finally {
    database.close();
  }
}

/** Null: there is no such file, or no record in it. */
export function readRecord(file: string): unknown {
  if (!existsSync(file)) return null;
  const database = new Database(file);
  try {
    const row = database.query<{ value: string }, []>("SELECT value FROM record").get();
    return row === null ? null : JSON.parse(row.value);
  } catch {
    return null;
  } finally {
    database.close();
  }
}

export function removeDatabase(file: string): void {
  for (const end of ["", "-wal", "-shm", "-journal", ".tmp"]) rmSync(`${file}${end}`, { force: true });
}
