import type { Clock } from "../../../src/platform/clock.ts";
import type { CommitterHooks } from "../../../src/platform/db/group-commit.ts";
import { DiskGuard } from "../../../src/platform/db/disk-guard.ts";
import { emailQueue, instance } from "../../../src/platform/db/schema/schema.ts";
import type { LogFields } from "../../../src/platform/log.ts";
import type { AttemptContext, JobHandler, JobResult, UncertainJob } from "../../../src/platform/queue/handler.ts";
import {
  type EmailJob,
  type EmailState,
  openQueueStore,
  type QueueStore,
} from "../../../src/modules/emails/queue/store.ts";
import { Worker, type WorkerOptions } from "../../../src/platform/queue/worker.ts";
import { type TemporaryDatabase, temporaryDatabase, turn } from "../db/temporary.ts";
import { type FakeClock, fakeClock } from "../fakes/clock.ts";

/** Whose a queued row is, where that does not matter. */
export const SOMEBODYS = { workspaceId: 1, domainId: 1, createdAt: 0 };

export const MINUTE = 60_000;

/** An attempt that the worker began, for a test to end. */
export interface Attempt {
  job: EmailJob;
  context: AttemptContext;
  end(result: JobResult<EmailState>): void;
  fail(error: unknown): void;
  /** Unix ms. */
  startedAt: number;
}

/** A worker over a real database, with a clock and a handler that the test holds. */
export interface Workshop extends Disposable {
  of: TemporaryDatabase;
  queue: QueueStore;
  clock: FakeClock;
  guard: DiskGuard;
  worker: Worker<EmailState>;
  /** Every attempt begun, in order. */
  attempts: Attempt[];
  /** Attempts whose dot was marked when a crash or a bug cut them off. */
  interrupted: UncertainJob[];
  events: { name: string; fields: LogFields }[];
  bugs: { where: string; error: unknown }[];
  /** Longest delay that was asked of the clock. */
  longestDelayMs(): number;
  /** Timers set so far. */
  timersSet(): number;
  /** Transactions tried so far. */
  transactions(): number;
  /** Adds a row, committed, and nudges the worker. */
  add(id: number, options?: { dueAt?: number; destination?: string; workspaceId?: number }): Promise<number>;
  row(id: number): typeof emailQueue.$inferSelect | undefined;
  /** Rows in the queue. */
  depth(): number;
  setWritable(isWritable: boolean): void;
  setFreeBytes(bytes: number): void;
  /** Sets what the clock shows, without its timers noticing, as an operator or NTP does. */
  setBack(ms: number): void;
  advance(ms: number): Promise<void>;
}

export interface WorkshopWorkerOptions extends WorkerOptions<EmailState> {
  handler: Required<Pick<JobHandler<EmailState>, "attempt" | "recordUncertain" | "stateAfterError">>;
}

export interface WorkshopOptions {
  maxJobs?: number;
  maxJobsPerLane?: number;
  scheduleMs?: number[];
  lifeMs?: number;
  /** Attempts end by themselves so; else the test ends them. */
  handle?: (job: EmailJob, context: AttemptContext) => Promise<JobResult<EmailState>>;
  recordUncertain?: JobHandler["recordUncertain"];
  change?: (options: WorkshopWorkerOptions) => WorkerOptions<EmailState>;
}

export function workshop(options: WorkshopOptions = {}): Workshop {
  const hooks: CommitterHooks = {};
  const of = temporaryDatabase(hooks);
  const queue = openQueueStore(of.db);
  const clock = fakeClock();
  let offset = 0;
  let timers = 0;
  let longest = 0;
  let transactions = 0;
  let freeBytes = 1e12;
  const shown: Clock = {
    now: () => clock.now() - offset,
    after(delayMs, run) {
      timers += 1;
      longest = Math.max(longest, delayMs);
      return clock.after(delayMs, run);
    },
  };
  const on: Pick<Workshop, "attempts" | "interrupted" | "events" | "bugs"> = {
    attempts: [],
    interrupted: [],
    events: [],
    bugs: [],
  };
  const guard = new DiskGuard({
    committer: of.committer,
    probe: () => void of.db.orm.insert(instance).values({ name: "probe", value: "" }).onConflictDoNothing().run(),
    clock: shown,
    log: { error: () => undefined },
    limits: { minFreeBytes: 1_000, minFreeInodesPercent: 0 },
    readFree: () => ({ freeBytes, freeInodesPercent: 100 }),
    changed: () => undefined,
  });
  hooks.committed = () => void transactions++;
  hooks.failed = (error) => {
    transactions += 1;
    guard.raise(error);
  };
  guard.start();
  const workerOptions: WorkshopWorkerOptions = {
    queue,
    handler: {
      attempt: (job, context) =>
        new Promise((end, fail) => {
          on.attempts.push({ job, context, end, fail, startedAt: shown.now() });
          if (options.handle !== undefined) options.handle(job, context).then(end, fail);
        }),
      stateAfterError: ({ state }) => ({ ...state, lastReply: "an internal error" }),
      recordUncertain(job) {
        options.recordUncertain?.(job);
        on.interrupted.push(job);
      },
    },
    commit: of.committer.commit,
    guard,
    clock: shown,
    random: { bytes: (count) => new Uint8Array(count), unit: () => 0.5 },
    log: {
      event: (name, fields = {}) => void on.events.push({ name, fields }),
      error: (where, error) => void on.bugs.push({ where, error }),
    },
    scheduleMs: options.scheduleMs ?? [MINUTE, 10 * MINUTE],
    maxJobs: options.maxJobs ?? 100,
    maxJobsPerLane: options.maxJobsPerLane ?? 10,
  };
  const worker = new Worker(options.change?.(workerOptions) ?? workerOptions);
  return {
    ...on,
    of,
    queue,
    clock,
    guard,
    worker,
    longestDelayMs: () => longest,
    timersSet: () => timers,
    transactions: () => transactions,
    async add(id, { dueAt = shown.now(), destination = "example.com", workspaceId = 1 } = {}) {
      const laneId = await of.committer.commit(() => {
        const lane = queue.laneFor(workspaceId, destination);
        queue.add({
          ...SOMEBODYS,
          id,
          laneId: lane,
          nextAt: dueAt,
          expiresAt: shown.now() + (options.lifeMs ?? 100 * 24 * 60 * MINUTE),
        });
        return lane;
      });
      worker.nudge(laneId, dueAt);
      return laneId;
    },
    depth: () => countRows(of.db),
    row: (id) =>
      of.db.orm
        .select()
        .from(emailQueue)
        .all()
        .find((row) => row.id === id),
    setWritable: (isWritable) => of.db.sqlite.run(`PRAGMA query_only = ${isWritable ? "OFF" : "ON"}`),
    setFreeBytes: (bytes) => (freeBytes = bytes),
    setBack: (ms) => (offset += ms),
    async advance(ms) {
      clock.advance(ms);
      await turn(6);
    },
    [Symbol.dispose]() {
      void guard.stop();
      of[Symbol.dispose]();
    },
  };
}

export const COMPLETE: JobResult<EmailState> = { action: { kind: "complete" }, isReached: true };
export const RELEASE: JobResult<EmailState> = { action: { kind: "release" }, isReached: null };

export function deferral(at: number | null, lastReply: string | null = null): JobResult<EmailState> {
  return { action: { kind: "retry", at, state: { lastReply, badDomainAt: null } }, isReached: true };
}

/** Turns of the event loop until `isSo`; a test fails that waits for ever. */
export async function until(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 2_000; i++) {
    if (isSo()) return;
    await turn();
  }
  throw new Error(`it did not come to that: ${isSo.toString()}`);
}

/** Emails in the queue, in flight or waiting. */
export function countRows({ orm }: TemporaryDatabase["db"]): number {
  return orm.select().from(emailQueue).all().length;
}
