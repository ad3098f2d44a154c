// A webhook of `script/bench reads`, with the calls that were made to it: every tenth failed.

import { Database } from "bun:sqlite";
import { databaseFile } from "./rows.ts";

const ID = "0198a5a0-0000-7000-8000-00000000b001";
const UID = "printf('0198a5a0-0000-7000-8000-%012x', n.i)";

/** Writes `rows` calls into a stopped instance; the paths of the webhook's pages. */
export function writeWebhook(dataFolder: string, rows: number): { calls: string[]; one: string[] } {
  using database = new Database(databaseFile(dataFolder), { strict: true });
  for (const pragma of ["journal_mode = OFF", "synchronous = OFF"]) database.run(`PRAGMA ${pragma}`);
  const now = Date.now();
  database.run(
    `INSERT INTO webhook (uid, workspace_id, url, events, is_enabled, secret, created_at, delivery_count)
     SELECT ?, MIN(id), 'https://hooks.example.test/', '["email.delivered"]', 0, zeroblob(32), ?, ? FROM workspace`,
    [ID, now, rows],
  );
  database.run(
    `INSERT INTO webhook_delivery (uid, webhook_id, event_id, event_uid, event_type, attempt, response_status, created_at,
       delivered_at, failed_at, duration_ms)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     SELECT ${UID}, webhook.id, n.i, ${UID}, 'email.delivered', 1, iif(n.i % 10 = 0, 500, 200), ? + n.i,
       iif(n.i % 10 = 0, NULL, ? + n.i), iif(n.i % 10 = 0, ? + n.i, NULL), 12 FROM n, webhook WHERE webhook.uid = ?`,
    [rows, now - rows, now - rows, now - rows, ID],
  );
  const path = `/webhooks/${ID}/deliveries`;
  const middle = Math.max(1, Math.floor(rows / 100));
  const list = (query: string) => `${path}?limit=50${query}`;
  const one = database
    .query<{ uid: string }, [number]>("SELECT uid FROM webhook_delivery WHERE id % ? = 0 LIMIT 100")
    .all(Math.max(1, Math.floor(rows / 100)));
  return {
    calls: [list(""), list("&status=failed"), list("&status=delivered"), list(`&page=${middle}`)],
    one: one.map(({ uid }) => `${path}/${uid}`),
  };
}
