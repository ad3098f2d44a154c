// A million rows in half a minute: one email that pombo has accepted is multiplied by SQL in the
// database of the stopped instance, with everything that belongs to it. Nothing here is durable while
// it is being written, since a run that breaks off is thrown away; at the end the file is synced.

import { Database } from "bun:sqlite";
import { closeSync, fsyncSync, openSync, statSync } from "node:fs";
import { join } from "node:path";

/** Rows of one transaction. */
const CHUNK = 50_000;

/** How the copies differ; SQL expressions over `i` (0, 1, …), `t` (the first email's row) and `created_at` of the copy. */
export interface Copies {
  /** The email that is multiplied, by its id in the API. */
  uid: string;
  rows: number;
  /** Unix ms of the first copy; the others follow evenly up to `createdTo`. */
  createdFrom: number;
  createdTo: number;
  recipient: string;
  /** Defaults are the first email's own values. */
  domainId?: string;
  senderDomain?: string;
  status?: string;
  /** Beside `status`, for the columns that belong to an end. */
  ended?: {
    sentAt: string;
    deliveredAt: string;
    endedAt: string;
    failedReason: string;
    bounce: string;
    attempts: string;
  };
}

export interface Filled {
  rows: number;
  seconds: number;
  databaseBytes: number;
}

/** The internal ids of the copies are `first`, `first + 1`, … */
export interface Multiplied {
  database: Database;
  first: number;
  rows: number;
}

export function databaseFile(dataFolder: string): string {
  return join(dataFolder, "pombo.db");
}

/** Opens the database, multiplies, lets `more` write what else there is to the copies, counts totals and usage, syncs. */
export async function fill(
  dataFolder: string,
  copies: Copies,
  more: (made: Multiplied) => Promise<void>,
): Promise<Filled> {
  const startedAt = performance.now();
  const file = databaseFile(dataFolder);
  const database = new Database(file, { strict: true });
  try {
    // Without a journal: half the bytes. pombo sets WAL again when it opens the file.
    for (const pragma of ["journal_mode = OFF", "synchronous = OFF", "cache_size = -262144", "temp_store = MEMORY"])
      database.run(`PRAGMA ${pragma}`);
    const made = await multiply(database, copies);
    await more(made);
    count(made);
  } finally {
    database.close();
  }
  syncFile(file);
  const seconds = (performance.now() - startedAt) / 1000;
  return { rows: copies.rows, seconds, databaseBytes: statSync(file).size };
}

/** Runs an INSERT … SELECT for every copy; in it `n.i` counts from 0. `$template` is the id of the first email. */
export async function insertForEach(
  { database, first, rows }: Multiplied,
  template: number,
  insert: string,
): Promise<void> {
  const statement = database.query<unknown, Record<string, number>>(
    insert.replace(
      "$NUMBERS",
      "(WITH RECURSIVE n(i) AS (VALUES ($from) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $to) SELECT i FROM n)",
    ),
  );
  for (let from = 0; from < rows; from += CHUNK) {
    const range: Record<string, number> = { from, to: Math.min(from + CHUNK, rows), first, template };
    database.transaction(() => statement.run(range))();
    await Bun.sleep(0); // an interruption is heard between two chunks
  }
}

async function multiply(database: Database, copies: Copies): Promise<Multiplied> {
  const template = idOf(database, copies.uid);
  const last = database.query<{ id: number }, []>("SELECT MAX(id) AS id FROM email").get()?.id ?? 0;
  const made = { database, first: last + 1, rows: copies.rows };
  const step = (copies.createdTo - copies.createdFrom) / copies.rows;
  const ended = copies.ended ?? {
    sentAt: "NULL",
    deliveredAt: "NULL",
    endedAt: "NULL",
    failedReason: "NULL",
    bounce: "NULL",
    attempts: "0",
  };
  await insertForEach(
    made,
    template,
    `INSERT INTO email (id, uid, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
       recipient_address, subject, reply_to, return_path, created_at, status, sent_at, delivered_at, ended_at, failed_reason, bounce, attempts)
     SELECT $first + i, ${UUID_V7}, workspace_id, domain_id, sender, sender_address, sender_domain, recipient,
       recipient_address, subject, reply_to, return_path, created_at, status, ${ended.sentAt}, ${ended.deliveredAt}, ${ended.endedAt},
       ${ended.failedReason}, ${ended.bounce}, ${ended.attempts}
     FROM (
       SELECT n.i, t.workspace_id, ${copies.domainId ?? "t.domain_id"} AS domain_id, t.sender, t.sender_address,
         ${copies.senderDomain ?? "t.sender_domain"} AS sender_domain, ${copies.recipient} AS recipient, ${copies.recipient} AS recipient_address, t.subject,
         t.reply_to, t.return_path, ${copies.status ?? "'queued'"} AS status,
         CAST(${copies.createdFrom} + n.i * ${step} AS INTEGER) AS created_at
       FROM $NUMBERS AS n, email AS t WHERE t.id = $template
     )`,
  );
  await insertForEach(
    made,
    template,
    `INSERT INTO email_body (email_id, content, html_bytes, text_bytes, encoding)
     SELECT $first + n.i, t.content, t.html_bytes, t.text_bytes, t.encoding
     FROM $NUMBERS AS n, email_body AS t WHERE t.email_id = $template`,
  );
  return made;
}

/** As src/platform/uuid.ts makes them: 48 bits of time, then random ones. */
const UUID_V7 = `printf('%s-%s-7%03x-%04x-%012x', substr(printf('%012x', created_at), 1, 8),
  substr(printf('%012x', created_at), 9, 4), random() & 4095, 32768 | (random() & 16383), random() & 281474976710655)`;

/** What the transactions that make real rows keep beside them. */
function count({ database, first }: Multiplied): void {
  database.run(
    `INSERT INTO email_total (workspace_id, domain_id, status, count)
     SELECT e.workspace_id, e.domain_id, iif(q.attempts > q.in_flight, 'delivery_delayed', iif(q.send_at IS NULL, e.status, 'scheduled')), COUNT(*)
     FROM email AS e LEFT JOIN email_queue AS q ON q.id = e.id WHERE e.id >= ? GROUP BY 1, 2, 3
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    [first],
  );
  database.run(
    `INSERT INTO usage (workspace_id, name, day, count)
     SELECT workspace_id, 'emails', strftime('%Y-%m-%d', created_at / 1000, 'unixepoch'), COUNT(*)
     FROM email WHERE id >= ? GROUP BY 1, 3
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    [first],
  );
}

/** The internal id of an email. @throws Error when it is not there. */
export function idOf(database: Database, uid: string): number {
  const row = database.query<{ id: number }, [string]>("SELECT id FROM email WHERE uid = ?").get(uid);
  if (row === null) throw new Error(`the email ${uid} is not in the database`);
  return row.id;
}

/** The rows are on disk before anything is measured: the kernel must not write them meanwhile. */
function syncFile(file: string): void {
  const handle = openSync(file, "r+");
  fsyncSync(handle);
  closeSync(handle);
}
