/** What a data directory holds, read from a copy, so that nothing of it is touched. */
import { Database } from "bun:sqlite";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface StoredEmail {
  uid: string;
  subject: string;
  status: string;
  attempts: number;
  possibleDuplicate: boolean;
  /** Null when it is final. */
  queue: { attempts: number; isInFlight: boolean; dotAt: number | null; nextAt: number } | null;
}

interface Row {
  uid: string;
  subject: string;
  status: string;
  attempts: number;
  possible_duplicate: number;
  queued: number | null;
  begun: number;
  in_flight: number;
  dot_at: number | null;
  next_at: number;
}

/**
 * Every email of the database, by its id. The process that owned it must be gone: the file and its
 * WAL are copied one after the other. The -shm is left out, so that SQLite reads the WAL anew.
 */
export function readEmails(dataDir: string): Map<string, StoredEmail> {
  return withCopy(dataDir, (database) => {
    const rows = database
      .query<Row, []>(
        `SELECT uid, subject, status, email.attempts, possible_duplicate, email_queue.id AS queued,
                email_queue.attempts AS begun, in_flight, dot_at, next_at
         FROM email LEFT JOIN email_queue ON email_queue.id = email.id`,
      )
      .all();
    return new Map(rows.map((row) => [row.uid, toEmail(row)]));
  });
}

function toEmail(row: Row): StoredEmail {
  const { uid, subject, status, attempts } = row;
  const queue =
    row.queued === null
      ? null
      : { attempts: row.begun, isInFlight: row.in_flight === 1, dotAt: row.dot_at, nextAt: row.next_at };
  return { uid, subject, status, attempts, possibleDuplicate: row.possible_duplicate === 1, queue };
}

/** The counters of all workspaces and days, by their names; as above, the process must be gone. */
export function readUsage(dataDir: string): Record<string, number> {
  return withCopy(dataDir, (database) => {
    const rows = database
      .query<{ name: string; count: number }, []>("SELECT name, SUM(count) AS count FROM usage GROUP BY name")
      .all();
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
  });
}

/** Also checks that the file is whole. */
function withCopy<T>(dataDir: string, read: (database: Database) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "pombo-copy-"));
  try {
    for (const file of ["pombo.db", "pombo.db-wal"]) {
      if (existsSync(join(dataDir, file))) copyFileSync(join(dataDir, file), join(folder, file));
    }
    using database = new Database(join(folder, "pombo.db"));
    const check = database.query<{ quick_check: string }, []>("PRAGMA quick_check").get()?.quick_check;
    if (check !== "ok") throw new Error(`the database is damaged: ${check}`);
    return read(database);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** How many emails still wait or are being sent, asked of a running instance's database beside it. */
export function queueDepth(dataDir: string): number {
  using database = new Database(join(dataDir, "pombo.db"), { readonly: true });
  return database.query<{ depth: number }, []>("SELECT COUNT(*) AS depth FROM email_queue").get()?.depth ?? 0;
}
