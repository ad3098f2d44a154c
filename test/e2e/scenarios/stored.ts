/** What a data directory holds, read from a copy, so that nothing of it is touched. */
import { Database } from "bun:sqlite";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unpackPiece } from "../../../src/modules/emails/attachments/pack.ts";
import { openAttachmentStore } from "../../../src/modules/emails/attachments/store.ts";
import { openDatabase } from "../../../src/platform/db/open.ts";

export interface StoredEmail {
  uid: string;
  subject: string;
  status: string;
  attempts: number;
  possibleDuplicate: boolean;
  /** Null when it is final. */
  queue: { attempts: number; isInFlight: boolean; dotAt: number | null; nextAt: number } | null;
}

/** src/modules/emails/attachments/sweep.ts */
const STAGED_MS = 3_600_000;

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

/** The files of attachments, as a sweep at `at` leaves them. */
export interface StoredFiles {
  removed: number;
  /** SHA-256 of each one's content, as its pieces give it. */
  kept: string[];
  pieces: number;
  piecesOfKept: number;
  /** Of contents and files, as the workspaces' counters have them, */
  countedBytes: number;
  /** and as they are. */
  storedBytes: number;
}

/** As above, the process must be gone. */
export function readFiles(dataDir: string, at: number): StoredFiles {
  return withCopy(dataDir, ({ filename }) => {
    const db = openDatabase(filename);
    let [removed, givenBack] = [0, 0];
    const store = openAttachmentStore(db, (_, bytes) => {
      removed += 1;
      givenBack += bytes;
    });
    const count = (query: string) => db.sqlite.query<{ n: number }, []>(`SELECT ${query}`).get()?.n ?? 0;
    try {
      for (let after: number | null = 0; after !== null;) after = store.sweep(after, at - STAGED_MS);
      const rows = db.sqlite
        .query<{ id: number; encoding: "plain" | "zstd" }, []>("SELECT id, encoding FROM attachment")
        .all();
      let piecesOfKept = 0;
      const kept = rows.map(({ id, encoding }) => {
        const sum = new Bun.CryptoHasher("sha256");
        for (let number = 0; ; number += 1) {
          const piece = store.readPiece(id, number);
          if (piece === undefined) return sum.digest("hex");
          sum.update(unpackPiece(piece, encoding));
          piecesOfKept += 1;
        }
      });
      const pieces = count("COUNT(*) AS n FROM attachment_piece");
      const countedBytes = count("SUM(count) AS n FROM usage WHERE name = 'stored_bytes'") - givenBack;
      const storedBytes =
        count("SUM(LENGTH(content)) AS n FROM email_body") + count("SUM(LENGTH(content)) AS n FROM attachment_piece");
      return { removed, kept, pieces, piecesOfKept, countedBytes, storedBytes };
    } finally {
      db.close();
    }
  });
}

/** Also checks that the file is whole. */
export function withCopy<T>(dataDir: string, read: (database: Database) => T): T {
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

/** The same of files of attachments that are not whole. */
export function countHalfFiles(dataDir: string): number {
  using database = new Database(join(dataDir, "pombo.db"), { readonly: true });
  return database.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM attachment WHERE sha256 IS NULL").get()?.n ?? 0;
}
