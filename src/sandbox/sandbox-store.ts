// Opens the sandbox's own SQLite files, so that none of its tables reaches pombo's database.

import { Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, openSync } from "node:fs";

export interface Layout {
  /** A file of another version is emptied. */
  version: number;
  table: string;
  /** Makes the table and its indexes. */
  make: string[];
}

/** Opens a file (made when missing, 0600), or memory with `":memory:"`. One of another layout is emptied. */
export function openSandboxDatabase(file: string, { version, table, make }: Layout): Database {
  if (file !== ":memory:") {
    // Made by us before SQLite would make it with the umask; -wal and -shm inherit the mode.
    if (!existsSync(file)) closeSync(openSync(file, "ax", 0o600));
    chmodSync(file, 0o600);
  }
  const database = new Database(file, { create: true, strict: true });
  // The sandbox's messages need not survive a power cut, and without the syncs thousands of messages a
  // second fit in one thread. secure_delete off for the same reason.
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = OFF");
  database.run("PRAGMA secure_delete = OFF");
  const found = database.query<{ user_version: number }, []>("PRAGMA user_version").get();
  if (found?.user_version !== version) {
    database.run(`DROP TABLE IF EXISTS ${table}`);
    for (const statement of make) database.run(statement);
    database.run(`PRAGMA user_version = ${version}`);
  }
  database.run("CREATE TABLE IF NOT EXISTS cleared (until INTEGER NOT NULL) STRICT");
  return database;
}

/** Rows that were written since it was opened. */
export function countChanges(database: Database): number {
  return database.query<{ count: number }, []>("SELECT total_changes() AS count").get()?.count ?? 0;
}

/** When the newest message at the last "Delete all" was accepted, Unix ms; 0: nothing was deleted. */
export function openClearedUntil(database: Database) {
  return {
    read: (): number =>
      database.query<{ until: number | null }, []>("SELECT max(until) AS until FROM cleared").get()?.until ?? 0,
    write(until: number): void {
      database.query("INSERT INTO cleared (until) VALUES (?)").run(until);
    },
  };
}
