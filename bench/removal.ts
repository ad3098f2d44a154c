// The removal of old emails and the shrinking of the file, run here over a database with pombo's own code: how long each
// batch holds the event loop, and what it writes to the log.

import { statSync } from "node:fs";
import { openStores } from "../src/server/stores.ts";
import type { Clock } from "../src/platform/clock.ts";
import { systemClock } from "../src/platform/clock.ts";
import { Checkpoints } from "../src/platform/db/checkpoints.ts";
import { type Commit, Committer } from "../src/platform/db/group-commit.ts";
import { takeOverSync } from "../src/platform/db/log-sync.ts";
import { closeDatabase, type Db, openDatabase, readPragma } from "../src/platform/db/open.ts";
import { STEP_PAGES } from "../src/platform/db/file/shrink.ts";
import { createWalkingPurge } from "../src/platform/db/purge.ts";
import { SkippedRows } from "../src/platform/db/skipped-rows.ts";
import { disableCheckpoints, getWalBytes } from "../src/platform/db/wal.ts";
import { openThread } from "../src/server/start-mail-worker.ts";
import { cpuTime } from "../test/support/cpu-time.ts";

const RETENTION_MS = 400 * 86_400_000;
const PASS_WAIT_MS = 60_000;
/** Records and pages whose bytes in the log are counted. */
const SAMPLE_RECORDS = 2_000;
const SAMPLE_PAGES = 4_000;
const FAST_STEP_PAGES = 2_000;

/** In ms: from the begin of the closure until it is durable, and the processor time of the event loop's thread. */
export interface Holds {
  wall: number[];
  cpu: number[];
}

export interface RemovalFigures {
  batches: Holds;
  recordsPerSecond: number;
  walBytesPerRecord: number;
  bytesBefore: number;
}

export interface ShrinkFigures {
  steps: Holds;
  walBytes: number;
  pages: number;
  bytesAfter: number;
}

/** Removes old emails for so many seconds. */
export async function measureRemoval(file: string, seconds: number): Promise<RemovalFigures> {
  const bytesBefore = statSync(file).size;
  return await withInstance(file, async (db, commit) => {
    const sampled = await countLogBytes(db, () => remove(db, commit, { records: SAMPLE_RECORDS }));
    const batches: Holds = { wall: [], cpu: [] };
    const startedAt = performance.now();
    const removed = await remove(db, timeCommits(commit, batches), { seconds });
    const recordsPerSecond = (1_000 * removed) / (performance.now() - startedAt);
    return { batches, recordsPerSecond, walBytesPerRecord: sampled.bytes / sampled.value, bytesBefore };
  });
}

/** Removes what is left, and gives the room back. */
export async function measureShrink(file: string): Promise<ShrinkFigures> {
  return await withInstance(file, async (db, commit) => {
    await remove(db, commit, { pauseMs: 0 });
    const steps: Holds = { wall: [], cpu: [] };
    const timed = timeCommits(commit, steps);
    const { bytes: walBytes } = await countLogBytes(db, () => vacuum(db, timed, STEP_PAGES, SAMPLE_PAGES));
    await vacuum(db, commit, FAST_STEP_PAGES, Infinity);
    db.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return { steps, walBytes, pages: SAMPLE_PAGES, bytesAfter: statSync(file).size };
  });
}

/** A database as an instance has it: the log is synced beside the event loop, and checkpointed by a thread. */
async function withInstance<T>(file: string, run: (db: Db, commit: Commit) => Promise<T>): Promise<T> {
  const db = openDatabase(file);
  const logSync = takeOverSync(db.sqlite);
  const checkpoints = new Checkpoints({ sqlite: db.sqlite, databaseFile: file, openThread, log: { event: nothing } });
  db.listeners.push(checkpoints);
  try {
    return await run(db, new Committer(db, {}, logSync).commit);
  } finally {
    await checkpoints.stop();
    logSync.close();
    closeDatabase(db);
  }
}

interface Until {
  records?: number;
  seconds?: number;
  pauseMs?: number;
}

/** Removes old emails as pombo does, until there are none or so many are removed; how many. */
async function remove(db: Db, commit: Commit, until: Until): Promise<number> {
  const { records = Infinity, seconds = Infinity, pauseMs } = until;
  const { retention } = openStores(db, { accepted: nothing, ended: nothing, attempted: nothing }, new Uint8Array(32));
  const endsAt = performance.now() + seconds * 1_000;
  let removed = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const clock: Clock = {
    now: () => systemClock.now(),
    // A long wait comes before the first pass, and between two.
    after(delayMs, run) {
      const isPass = delayMs >= PASS_WAIT_MS;
      if ((isPass && removed > 0) || removed >= records || performance.now() >= endsAt) {
        end();
        return nothing;
      }
      return systemClock.after(isPass ? 0 : (pauseMs ?? delayMs), run);
    },
  };
  const steady: Clock = { now: () => performance.now(), after: clock.after };
  const log = { event: nothing, error: (_: string, error: unknown) => void console.error(error) };
  const skipped = new SkippedRows({ commit, clock, log, component: "database" });
  const walk: typeof retention = {
    find: (after, limit) => retention.find(after, limit),
    remove(rows, notBefore) {
      retention.remove(rows, notBefore);
      removed += rows.filter(({ endedAt }) => endedAt !== null && endedAt < notBefore).length;
    },
  };
  const purge = createWalkingPurge(
    { commit, clock, steady, log, skipped },
    "old emails",
    walk,
    () => Date.now() - RETENTION_MS,
  );
  purge.start();
  await ended;
  await purge.stop();
  return removed;
}

async function vacuum(db: Db, commit: Commit, stepPages: number, pages: number): Promise<void> {
  for (let freed = 0; freed < pages && readPragma(db.sqlite, "freelist_count") > 0; freed += stepPages)
    await commit(() => void db.sqlite.query(`PRAGMA incremental_vacuum(${stepPages})`).all());
}

/** What `run` writes to the log, without checkpoints. */
async function countLogBytes<T>(db: Db, run: () => Promise<T>): Promise<{ value: T; bytes: number }> {
  const listeners = db.listeners.splice(0);
  disableCheckpoints(db);
  // A checkpoint of the thread may be under way.
  while (getWalBytes(db.sqlite.filename) > 0) {
    db.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    await Bun.sleep(1);
  }
  const value = await run();
  const bytes = getWalBytes(db.sqlite.filename);
  db.listeners.push(...listeners);
  db.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  return { value, bytes };
}

/** The processor time of one counts until the next begins: the rest of a checkpoint falls between two. */
function timeCommits(commit: Commit, holds: Holds): Commit {
  let last: number | null = null;
  return async (work) => {
    let wall = 0;
    const value = await commit(() => {
      wall = performance.now();
      const cpu = cpuTime();
      if (last !== null) holds.cpu.push(cpu - last);
      last = cpu;
      return work();
    });
    holds.wall.push(performance.now() - wall);
    return value;
  };
}

function nothing(): void {
  // Nobody counts here.
}
