// Finds pages of the database that a disk or a machine has damaged.

import { Database, SQLiteError } from "bun:sqlite";

// Damaged pages are not noticed before somebody reads them. A table is checked with its indexes, in a short read of its
// own, so that the write-ahead log can be checkpointed in between.

const MAX_FOUND = 3;
const BUSY_TIMEOUT_MS = 5_000;
/** What a start needs: small, except for the queues, which take half a second a million rows. */
const FIRST_TABLES = ["sqlite_schema", "instance", "workspace", "domain", "lane", "email_queue", "webhook_job"];
/** The queue in the table of segments, which holds sent ones too, by its indexes. */
const SMS_QUEUE = {
  sms_segment_ready: "SELECT COUNT(*) FROM sms_segment INDEXED BY sms_segment_ready WHERE state = 'ready'",
  sms_segment_open:
    "SELECT COUNT(*) FROM sms_segment INDEXED BY sms_segment_open WHERE state IN ('in_flight', 'unknown')",
};

/** Other errors (no files, no memory, a lock) say nothing about the pages, and damage that is reported makes people restore a backup. */
const DAMAGE_CODES = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/;

/**
 * What SQLite says about each damaged table of a file, also while it is in use; empty: it is whole. Throws SQLite's
 * error where the file cannot be read. Takes a second for 1.5 GB.
 */
export function findDamage(file: string): string[] {
  try {
    using sqlite = new Database(file, { readonly: true });
    sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    const tables = sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return ["sqlite_schema", ...tables.map(({ name }) => name)]
      .flatMap((table) => checkTable(sqlite, table))
      .slice(0, MAX_FOUND);
  } catch (error) {
    return [describeDamage(error)];
  }
}

/**
 * The same for the tables that a start needs, also of another version's, before anything is written: the last connection
 * that can write checkpoints the log when it is closed, and a damaged file must stay as it is.
 */
export function findDamageAtStart(file: string): string[] {
  using sqlite = new Database(file, { readonly: true });
  sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const rows = sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema").all();
  const names = new Set(["sqlite_schema", ...rows.map(({ name }) => name)]);
  const found = FIRST_TABLES.filter((table) => names.has(table)).flatMap((table) => checkTable(sqlite, table));
  for (const [index, look] of Object.entries(SMS_QUEUE)) {
    if (!names.has(index)) continue;
    try {
      sqlite.query(look).get();
    } catch (error) {
      found.push(`sms_segment: ${describeDamage(error)}`);
    }
  }
  return found.slice(0, MAX_FOUND);
}

function checkTable(sqlite: Pick<Database, "query">, table: string): string[] {
  try {
    const said = sqlite.query<{ quick_check: string }, []>(`PRAGMA quick_check('${table}')`).all();
    const [first] = said.map((row) => row.quick_check).filter((words) => words !== "ok");
    return first === undefined ? [] : [`${table}: ${first.replaceAll(/\s+/g, " ")}`];
  } catch (error) {
    return [`${table}: ${describeDamage(error)}`];
  }
}

/** The message of an error that shows damage; throws any other. */
function describeDamage(error: unknown): string {
  if (error instanceof SQLiteError && DAMAGE_CODES.test(error.code ?? "")) return error.message;
  throw error;
}
