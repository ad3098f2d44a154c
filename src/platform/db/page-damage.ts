import { Database, SQLiteError } from "bun:sqlite";

// Damaged pages: a disk or a machine has changed what SQLite wrote. They are not noticed before somebody reads them.
// A table is looked at with its indexes, in a short read of its own: the write-ahead log is not held up for longer.

const MAX_FOUND = 3;
const BUSY_TIMEOUT_MS = 5_000;
/** What a start stands on: small, but for the queues, which take half a second a million rows. */
const FIRST_TABLES = ["sqlite_schema", "instance", "workspace", "domain", "lane", "email_queue", "webhook_job"];
/** Of the texts' table, which holds those that were sent too, what is the queue, by its indexes. */
const QUEUE_OF_TEXTS = {
  sms_segment_ready: "SELECT COUNT(*) FROM sms_segment INDEXED BY sms_segment_ready WHERE state = 'ready'",
  sms_segment_open:
    "SELECT COUNT(*) FROM sms_segment INDEXED BY sms_segment_open WHERE state IN ('in_flight', 'unknown')",
};

/** Other errors, as for want of files, memory or a lock, say nothing of the pages: who was told of damage would put a backup back. */
const DAMAGE_CODES = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/;

/**
 * Of the whole file, also while it is in use: what SQLite says of each table that is damaged; empty: it is whole. Throws
 * SQLite's error where it cannot be looked at. Takes a second each 1.5 GB.
 */
export function findDamage(file: string): string[] {
  try {
    using sqlite = new Database(file, { readonly: true });
    sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    const tables = sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return ["sqlite_schema", ...tables.map(({ name }) => name)]
      .flatMap((table) => damageOf(sqlite, table))
      .slice(0, MAX_FOUND);
  } catch (error) {
    return [damageIn(error)];
  }
}

/**
 * Of what a start stands on, also of another version's, before anything is written: the last connection that could
 * write brings the log into the file when it is closed, and a damaged one is to be kept as it is. Throws SQLite's error
 * where it cannot be read at all.
 */
export function findDamageAtStart(file: string): string[] {
  using sqlite = new Database(file, { readonly: true });
  sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const rows = sqlite.query<{ name: string }, []>("SELECT name FROM sqlite_schema").all();
  const names = new Set(["sqlite_schema", ...rows.map(({ name }) => name)]);
  const found = FIRST_TABLES.filter((table) => names.has(table)).flatMap((table) => damageOf(sqlite, table));
  for (const [index, look] of Object.entries(QUEUE_OF_TEXTS)) {
    if (!names.has(index)) continue;
    try {
      sqlite.query(look).get();
    } catch (error) {
      found.push(`sms_segment: ${damageIn(error)}`);
    }
  }
  return found.slice(0, MAX_FOUND);
}

function damageOf(sqlite: Pick<Database, "query">, table: string): string[] {
  try {
    const said = sqlite.query<{ quick_check: string }, []>(`PRAGMA quick_check('${table}')`).all();
    const [first] = said.map((row) => row.quick_check).filter((words) => words !== "ok");
    return first === undefined ? [] : [`${table}: ${first.replaceAll(/\s+/g, " ")}`];
  } catch (error) {
    return [`${table}: ${damageIn(error)}`];
  }
}

/** What it says of damage; throws it where it says nothing of that. */
function damageIn(error: unknown): string {
  if (error instanceof SQLiteError && DAMAGE_CODES.test(error.code ?? "")) return error.message;
  throw error;
}
