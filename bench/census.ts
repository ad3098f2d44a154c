// What counting a long queue costs the event loop: `script/bench census [rows] [sites]`. The queue is
// filled in a temporary database, then counted as a scrape of /metrics does, while a timer measures how
// long the loop stands still at a time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../src/platform/db/open.ts";
import { QueueDepthSampler } from "../src/modules/emails/queue/depth-sampler.ts";
import { openEmailAdminStore } from "../src/modules/emails/queue/admin-store.ts";

const rows = Number(process.argv[2] ?? 1_000_000);
const lanes = Number(process.argv[3] ?? 1_000);
/** What the event loop may stand still for, in ms; see the acceptance of /metrics. */
const LIMIT_MS = 10;

const folder = mkdtempSync(join(tmpdir(), "pombo-census-"));
const db = openDatabase(join(folder, "bench.db"));
try {
  fill();
  const store = openEmailAdminStore(db);
  const slices: number[] = [];
  const timed: typeof store = {
    ...store,
    countSlice(from, limit, now) {
      const startedAt = performance.now();
      const slice = store.countSlice(from, limit, now);
      slices.push(performance.now() - startedAt);
      return slice;
    },
  };
  const census = new QueueDepthSampler({ store: timed, findSite: () => null, clock: Date });
  const watch = watchTurns();
  const startedAt = performance.now();
  await census.refresh();
  const tookMs = performance.now() - startedAt;
  const longestMs = watch();
  const depth = census.sites?.reduce((sum, site) => sum + site.depth, 0);
  slices.sort((a, b) => a - b);
  const p99 = slices[Math.floor(slices.length * 0.99)] ?? 0;
  console.log(
    `${depth} rows in ${lanes} lanes: ${tookMs.toFixed(0)} ms in ${slices.length} slices; ` +
      `a slice ${p99.toFixed(1)} ms (p99), ${slices.at(-1)?.toFixed(1)} ms (longest); ` +
      `the loop stood still for ${longestMs.toFixed(1)} ms at the most (${LIMIT_MS} ms wanted)`,
  );
  process.exitCode = longestMs <= LIMIT_MS ? 0 : 1;
} finally {
  db.close();
  rmSync(folder, { recursive: true, force: true });
}

function fill(): void {
  const lane = db.sqlite.prepare<unknown, [number, string]>(
    "INSERT INTO lane (id, workspace_id, destination) VALUES (?, 1, ?)",
  );
  const row = db.sqlite.prepare<unknown, [number, number, number]>(
    "INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at) VALUES (?, ?, 1, 1, 0, ?, 0)",
  );
  db.sqlite.transaction(() => {
    for (let id = 1; id <= lanes; id++) lane.run(id, `destination${id}.example`);
    for (let id = 1; id <= rows; id++) row.run(id, 1 + (id % lanes), Math.floor(id / 100));
  })();
}

/** The longest time between two turns of the event loop, until the returned function is called. */
function watchTurns(): () => number {
  let longestMs = 0;
  let isOver = false;
  let lastAt = performance.now();
  const look = () => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastAt);
    lastAt = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    isOver = true;
    return longestMs;
  };
}
