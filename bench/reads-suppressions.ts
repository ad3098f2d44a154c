import { join } from "node:path";
// The suppressions of `script/bench reads`: a million in the list of one workspace, a tenth of them of one
// millisecond, as an import or a mass that was applied leaves them; then its pages, and addresses lifted.

import { Database } from "bun:sqlite";
import { type ListPages, createListPages } from "../src/platform/http/pagination.ts";
import { loadInstanceKey } from "../src/platform/keyring/key-file.ts";
import { openKeyring } from "../src/platform/keyring/keyring.ts";
import { systemRandom } from "../src/platform/random.ts";
import type { ReadOrder, ReadResult } from "./get-load.ts";
import type { Reading } from "./reads-report.ts";
import { databaseFile } from "./rows.ts";

const DAY_MS = 86_400_000;
const SPAN_MS = 30 * DAY_MS;
const CHUNK = 50_000;
const PAGE_SIZE = 20;
const LIST = `/api/v1/suppressions?limit=${PAGE_SIZE}`;
const CONNECTIONS = [1, 8];

export interface SuppressionPaths {
  deep: string[];
  /** Each works once. */
  lifted: string[];
}

/** Writes `rows` suppressions of the only workspace into a stopped instance. */
export async function writeSuppressions(dataFolder: string, rows: number, lifts: number): Promise<SuppressionPaths> {
  using database = new Database(databaseFile(dataFolder), { strict: true });
  for (const pragma of ["journal_mode = OFF", "synchronous = OFF", "cache_size = -262144"])
    database.run(`PRAGMA ${pragma}`);
  const from = Date.now() - 60_000 - SPAN_MS;
  const insert = database.query<unknown, Record<string, number>>(
    `INSERT INTO suppression (workspace_id, channel, address, reason, created_at)
     SELECT w.id, iif(n.i % 10 = 0, 'sms', 'email'),
       iif(n.i % 10 = 0, printf('+25884%07d', n.i), printf('s%08x@d%04d.example.test', n.i * 2654435761 % 4294967296, n.i % 2000)),
       iif(n.i % 10 = 0, 'opt_out', 'hard_bounce'),
       CAST($since + $span * iif(n.i BETWEEN $rows * 0.45 AND $rows * 0.55, 0.5, n.i * 1.0 / $rows) AS INTEGER)
     FROM (WITH RECURSIVE n(i) AS (VALUES ($from) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $to) SELECT i FROM n) AS n,
       (SELECT MIN(id) AS id FROM workspace) AS w`,
  );
  for (let start = 0; start < rows; start += CHUNK) {
    const range = { since: from, span: SPAN_MS, rows, from: start, to: Math.min(start + CHUNK, rows) };
    database.transaction(() => insert.run(range))();
    await Bun.sleep(0); // an interruption is heard between two chunks
  }
  const at = database.query<{ address: string; created_at: number; id: number }, [number]>(
    "SELECT address, created_at, id FROM suppression LIMIT 1 OFFSET ?",
  );
  // In the midst of the rows of one millisecond, and in other places.
  const places = [0.5, 0.52, 0.1, 0.9].map((share) => at.get(Math.floor(share * (rows - 1))));
  const instanceKey = loadInstanceKey({ file: join(dataFolder, "instance.key"), env: {} });
  const pages = createListPages(openKeyring(instanceKey, systemRandom).hmacKey("list-cursor"));
  const cursors = places.map((row) => cursorAt(pages, row?.created_at ?? 0, row?.id ?? 0));
  const addresses = database
    .query<{ address: string }, [number, number]>("SELECT address FROM suppression WHERE id % ? = 0 LIMIT ?")
    .all(Math.max(1, Math.floor(rows / lifts)), lifts);
  return {
    deep: cursors.map((cursor) => `${LIST}&cursor=${cursor}`),
    lifted: addresses.map(({ address }) => `/api/v1/suppressions/${encodeURIComponent(address)}`),
  };
}

/** As the list gives it out behind that row. */
function cursorAt(pages: ListPages, createdAt: number, id: number): string {
  const row = { createdAt, id };
  return (
    pages.list(
      { limit: "1" },
      "suppressions",
      () => [row, row],
      () => null,
    ).meta.next_cursor ?? ""
  );
}

/** Measures them; `ask` runs an order with the workspace's key. */
export async function readSuppressions(
  paths: SuppressionPaths,
  requests: number,
  ask: (order: Pick<ReadOrder, "method" | "connections" | "paths" | "requests">) => Promise<ReadResult>,
): Promise<Reading[]> {
  const readings: Reading[] = [];
  const kinds = [
    { name: "the first page of the suppressions", paths: [LIST, `${LIST}&channel=email`, `${LIST}&channel=sms`] },
    {
      name: "a page of them by a deep cursor",
      paths: [...paths.deep, ...paths.deep.map((path) => `${path}&channel=sms`)],
    },
  ];
  for (const kind of kinds) {
    for (const connections of CONNECTIONS) {
      const result = await ask({ method: "GET", connections, paths: kind.paths, requests });
      readings.push({ name: kind.name, listed: null, connections, result, hasBound: connections === 1 });
    }
  }
  const share = Math.floor(paths.lifted.length / CONNECTIONS.length);
  for (const [index, connections] of CONNECTIONS.entries()) {
    const own = paths.lifted.slice(index * share, (index + 1) * share);
    const result = await ask({ method: "DELETE", connections, paths: own, requests: own.length });
    // It waits for the disk: no bound.
    readings.push({ name: "DELETE of a suppression", listed: null, connections, result, hasBound: false });
  }
  return readings;
}
