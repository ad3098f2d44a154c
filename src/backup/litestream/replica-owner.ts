import { constants, Database } from "bun:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";

// Whose replica it is: a database of one row that is replicated beside the main one, so that a start can read it
// without fetching that. Two instances writing to one replica would destroy it for both.

export interface Owner {
  /** The fact instance_id of the database. */
  instance: string;
  /** The start that has been writing to it. */
  boot: string;
  /** The name of its machine. */
  host: string;
  /** Unix ms. */
  startedAt: number;
  /** When it ended in order; null: it runs, or was cut off. */
  endedAt: number | null;
}

export function writeOwner(file: string, owner: Owner): void {
  // Not one that is there: its locks would be gone (platform/db/open.ts).
  if (!existsSync(file)) closeSync(openSync(file, "ax", 0o600));
  const database = new Database(file, { create: true });
  try {
    database.run("PRAGMA journal_mode = WAL");
    database.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    database.run("PRAGMA wal_autocheckpoint = 0");
    database.run("PRAGMA busy_timeout = 5000");
    database.run(
      "CREATE TABLE IF NOT EXISTS owner (id INTEGER PRIMARY KEY CHECK (id = 1), record TEXT NOT NULL) STRICT",
    );
    database.query("INSERT OR REPLACE INTO owner (id, record) VALUES (1, ?)").run(JSON.stringify(owner));
  } finally {
    database.close();
  }
}

/** Null: there is no such file, or it is empty. */
export function readOwner(file: string): Owner | null {
  if (!existsSync(file)) return null;
  const database = new Database(file);
  try {
    const row = database.query<{ record: string }, []>("SELECT record FROM owner").get();
    return row === null ? null : (JSON.parse(row.record) as Owner);
  } catch {
    return null;
  } finally {
    database.close();
  }
}
