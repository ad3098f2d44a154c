// The SMS of `script/bench reads`, of one workspace: each with its segment, its receipt and the credit that it took; of a
// hundred 92 were delivered, the newest thousand wait. A tenth as many were received, and both rings of the log of
// requests are full.

import { Database } from "bun:sqlite";
import { MAX_OF_RING } from "../src/modules/requests/store.ts";
import { databaseFile } from "./rows.ts";

const DAY_MS = 86_400_000;
const SPAN_MS = 30 * DAY_MS;
const CHUNK = 50_000;
const NUMBERS = "WITH RECURSIVE n(i) AS (VALUES ($from) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $to)";
const WORKSPACE = "(SELECT MIN(id) AS id FROM workspace) AS w";
const CREATED = "CAST($since + $span * (n.i * 1.0 / $rows) AS INTEGER)";
const STATUS = `CASE WHEN n.i >= $rows - 1000 THEN 'queued' WHEN n.i % 100 < 92 THEN 'delivered'
  WHEN n.i % 100 < 96 THEN 'undelivered' WHEN n.i % 100 < 99 THEN 'failed' ELSE 'expired' END`;
/** Half of all go to one number, which is the worst case of a filter by it. */
const RECIPIENT = "iif(n.i % 2 = 0, '+258840000000', printf('+25884%07d', n.i % 10000000))";

/** Every statement binds the same. */
const INSERTS = {
  messages: `INSERT INTO sms_message (id, uid, workspace_id, recipient, sender, body, encoding, alphabet, segments, credits,
      expires_at, created_at, status, provider_id, sent_at, delivered_at, last_event_at, is_final)
    ${NUMBERS} SELECT n.i + 1, printf('0198a5a0-0000-7000-8000-%012x', n.i), w.id, ${RECIPIENT}, 'Loja', 'O seu código é 4711.',
      'gsm7', 'gsm', 1, 1, ${CREATED} + 259200000, ${CREATED}, ${STATUS}, printf('%08X', n.i), ${CREATED} + 200,
      iif(n.i % 100 < 92, ${CREATED} + 900, NULL), ${CREATED} + 900, 1 FROM n, ${WORKSPACE}`,
  segments: `INSERT INTO sms_segment (message_id, seq, parts, workspace_id, payload, umr, state, route, priority, attempts,
      next_at, submitted_at, accepted_at, smsc_id, smsc_id_key, receipt_state, receipt_at, changed_at)
    ${NUMBERS} SELECT n.i + 1, 1, 1, w.id, zeroblob(20), n.i % 65536, 'delivered', 'main', 'transactional', 1,
      ${CREATED}, ${CREATED} + 100, ${CREATED} + 200, printf('%08X', n.i), printf('%08X', n.i), 'delivered', ${CREATED} + 900,
      ${CREATED} + 900 FROM n, ${WORKSPACE}`,
  credits: `INSERT INTO sms_credit (workspace_id, kind, amount, balance, message_id, segments, created_at)
    ${NUMBERS} SELECT w.id, 'reservation', -1, $rows - n.i, n.i + 1, 1, ${CREATED} FROM n, ${WORKSPACE}`,
  received: `INSERT INTO sms_inbound (uid, workspace_id, route, sender, recipient, body, is_whole, received_at)
    ${NUMBERS} SELECT printf('0198a5a0-0000-7000-8001-%012x', n.i), w.id, 'main', ${RECIPIENT}, '84000', 'SIM', 1, ${CREATED}
      FROM n, ${WORKSPACE}`,
  requests: `INSERT INTO api_request (uid, workspace_id, key_id, method, path, status, ms, error, created_at)
    ${NUMBERS} SELECT printf('0198a5a0-0000-7000-8002-%012x', n.i), w.id, 1, 'POST', '/emails', iif(n.i % 2 = 0, 202, 422), 3,
      iif(n.i % 2 = 0, NULL, '{"code":"VALIDATION_ERROR","message":"to must be an email address"}'), ${CREATED}
      FROM n, ${WORKSPACE}`,
};

/** The paths of the dashboard's pages, by what they show. */
export type SmsPages = Record<string, string[]>;

/** Writes `rows` SMS into a stopped instance. */
export async function writeSms(dataFolder: string, rows: number): Promise<SmsPages> {
  using database = new Database(databaseFile(dataFolder), { strict: true });
  for (const pragma of ["journal_mode = OFF", "synchronous = OFF", "cache_size = -262144"])
    database.run(`PRAGMA ${pragma}`);
  const now = Date.now();
  const since = now - 60_000 - SPAN_MS;
  const counts = {
    messages: rows,
    segments: rows,
    credits: rows,
    received: Math.ceil(rows / 10),
    requests: 2 * MAX_OF_RING,
  };
  for (const [name, sql] of Object.entries(INSERTS)) {
    const insert = database.query<unknown, Record<string, number>>(sql);
    const count = counts[name as keyof typeof counts];
    for (let from = 0; from < count; from += CHUNK) {
      const range = { since, span: SPAN_MS, rows: count, from, to: Math.min(from + CHUNK, count) };
      database.transaction(() => insert.run(range))();
      await Bun.sleep(0); // an interruption is heard between two chunks
    }
  }
  const some = database
    .query<{ uid: string }, [number]>("SELECT uid FROM sms_message WHERE id % ? = 1 LIMIT 100")
    .all(Math.max(1, Math.floor(rows / 100)));
  const day = (ago: number) => new Date(now - ago * DAY_MS).toISOString();
  const list = (query: string) => `/sms?limit=50${query}`;
  const [many, one] = [encodeURIComponent("+258840000000"), encodeURIComponent("+258840000001")];
  return {
    SMS: [list("")],
    "SMS: status=queued": [list("&status=queued")],
    "SMS: status=expired": [list("&status=expired")],
    "SMS: status=sending": [list("&status=sending")],
    "SMS: to": [list(`&to=${many}`), list(`&to=${one}`)],
    "SMS: to, status": [list(`&to=${many}&status=failed`), list(`&to=${many}&status=sending`)],
    "SMS: since, until": [
      list(`&since=${day(20)}&until=${day(10)}`),
      list(`&since=${day(20)}&until=${day(10)}&status=failed`),
    ],
    "an SMS": some.map(({ uid }) => `/sms/${uid}`),
    "an SMS: timeline": some.map(({ uid }) => `/sms/${uid}/events`),
    "received SMS": [
      "/sms/inbound?limit=50",
      `/sms/inbound?limit=50&from=${one}`,
      `/sms/inbound?limit=50&until=${day(10)}`,
    ],
    "SMS credits": ["/workspace/credits?limit=50"],
    requests: ["/workspace/requests?limit=50", "/workspace/requests?limit=50&status=failed"],
    "requests: a rare one": ["/workspace/requests?limit=50&path=/nothing"],
  };
}
