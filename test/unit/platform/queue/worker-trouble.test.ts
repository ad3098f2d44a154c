import { describe, expect, test } from "bun:test";
import { isStorageError } from "../../../../src/platform/db/storage-error.ts";
import { turn } from "../../../support/db/temporary.ts";
import { deferral, COMPLETE, MINUTE, SOMEBODYS, until, workshop } from "../../../support/queue/kit.ts";

// What the worker does when the storage fails, when its parts have bugs, and when a row gets lost.

describe("an end that cannot be recorded", () => {
  test("stays, is recorded once when the storage is well again, and nothing else starts meanwhile", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    await on.add(2, { dueAt: on.clock.now() + 500, destination: "example.net" });
    let recorded = 0;
    let committed = 0;
    on.setWritable(false);
    on.attempts[0]!.end({ ...COMPLETE, record: () => void recorded++, committed: () => void committed++ });
    await until(() => on.guard.failure !== null);
    for (let second = 0; second < 5; second++) await on.advance(1_000);
    expect(on.attempts).toHaveLength(1);
    expect(on.worker.runningCount).toBe(1);
    expect([recorded, committed]).toEqual([0, 0]);
    on.setWritable(true);
    await on.advance(1_000);
    await until(() => on.attempts.length === 2);
    expect([recorded, committed]).toEqual([1, 1]);
    expect(on.row(1)).toBeUndefined();
    expect(on.attempts[1]!.job.id).toBe(2);
    expect(on.bugs).toEqual([]);
  });

  test("is tried once a second, not in a loop", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    on.setWritable(false);
    on.attempts[0]!.end(COMPLETE);
    await until(() => on.guard.failure !== null);
    const before = on.transactions();
    await turn(200);
    expect(on.transactions()).toBe(before);
  });

  test("leaves the lane's place to nobody else until then", async () => {
    using on = workshop({ maxJobsPerLane: 1 });
    await on.worker.start();
    await on.add(1);
    await on.add(2);
    await until(() => on.attempts.length === 1);
    on.setWritable(false);
    on.attempts[0]!.end(COMPLETE);
    await until(() => on.guard.failure !== null);
    on.setWritable(true);
    await on.advance(1_000);
    await until(() => on.attempts.length === 2);
    expect(on.attempts[1]!.job.id).toBe(2);
  });
});

test("a claim that cannot be committed begins nothing, and is made again when the storage is well", async () => {
  using on = workshop();
  await on.worker.start();
  await on.add(1, { dueAt: on.clock.now() + 100 });
  await on.worker.idle();
  on.setWritable(false);
  await on.advance(100);
  expect(on.guard.failure).not.toBeNull();
  expect(on.attempts).toHaveLength(0);
  const before = on.transactions();
  await turn(100);
  expect(on.transactions()).toBe(before);
  on.setWritable(true);
  await on.advance(1_000);
  await until(() => on.attempts.length === 1);
  expect(on.row(1)?.attempts).toBe(1);
});

test("work goes on when writing works again, although the disk is still low", async () => {
  using on = workshop();
  await on.worker.start();
  await on.add(1, { dueAt: on.clock.now() + 100 });
  await on.worker.idle();
  on.setFreeBytes(0);
  on.setWritable(false);
  await on.advance(5_000);
  expect(on.guard.failure).not.toBeNull();
  on.setWritable(true);
  await on.advance(1_000);
  expect(on.guard.failure).toBeNull();
  expect(on.guard.blockedReason).not.toBeNull();
  await until(() => on.attempts.length === 1);
});

describe("a bug", () => {
  test("in the handler defers the row by the schedule", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    on.attempts[0]!.fail(new Error("a bug"));
    await on.worker.idle();
    expect(on.row(1)).toMatchObject({ inFlight: false, attempts: 1, nextAt: on.attempts[0]!.startedAt + MINUTE });
    expect(on.row(1)?.lastReply).not.toContain("a bug");
    expect(on.bugs).toEqual([{ where: "attempt", error: new Error("a bug") }]);
    expect(on.interrupted).toEqual([]);
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 2);
  });

  test("in the handler that outlasts the row's life does not bring the row back at once, for ever", async () => {
    using on = workshop({ lifeMs: 1_000, handle: () => Promise.reject(new Error("a bug")) });
    await on.worker.start();
    await on.add(1);
    await on.worker.idle();
    await on.advance(1_000);
    await on.worker.idle();
    expect(on.attempts).toHaveLength(2); // the second one should have told it off
    await turn(100);
    expect(on.attempts).toHaveLength(2);
    await on.advance(10 * MINUTE);
    expect(on.attempts).toHaveLength(3);
  });

  test("in the handler after the dot leaves word that the message may have been sent", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    const [attempt] = on.attempts;
    await attempt!.context.markPointOfNoReturn();
    expect(on.row(1)?.dotAt).toBe(on.clock.now());
    attempt!.fail(new Error("a bug"));
    await on.worker.idle();
    expect(on.interrupted).toEqual([
      { id: 1, attempts: 1, startedAt: attempt!.startedAt, uncertainSince: on.clock.now() },
    ]);
    expect(on.row(1)).toMatchObject({ inFlight: false, dotAt: null, nextAt: attempt!.startedAt + MINUTE });
  });

  test("in what records a deferral still defers", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    on.attempts[0]!.end({
      ...deferral(null, "451"),
      record: () => {
        throw new Error("a bug");
      },
    });
    await on.worker.idle();
    expect(on.row(1)).toMatchObject({ inFlight: false, attempts: 1, lastReply: "451" });
  });

  test("in what is told after the commit is logged once, and the job is over", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    let told = 0;
    on.attempts[0]!.end({
      ...COMPLETE,
      committed: () => {
        told += 1;
        throw new Error("a bug");
      },
    });
    await on.worker.idle();
    expect(told).toBe(1);
    expect(on.bugs.map(({ where }) => where)).toEqual(["committed"]);
    expect(on.worker.runningCount).toBe(0);
  });

  test("in the queue itself is retried once a minute, not in a loop that fills the log", async () => {
    let isBroken = true;
    let finished = 0;
    using on = workshop({
      change: (options) => ({
        ...options,
        queue: {
          ...options.queue,
          complete(job) {
            finished += 1;
            if (isBroken) throw new Error("a bug");
            return options.queue.complete(job);
          },
        },
      }),
    });
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    on.attempts[0]!.end(COMPLETE);
    await until(() => finished === 1);
    await turn(100);
    expect(finished).toBe(1);
    await on.advance(MINUTE);
    expect(finished).toBe(2);
    expect(on.bugs).toHaveLength(1);
    isBroken = false;
    await on.advance(MINUTE);
    expect(on.row(1)).toBeUndefined();
    expect(on.attempts).toHaveLength(1);
  });

  test("in the claim of a lane is retried once a second, not in a loop, and other lanes work on", async () => {
    let broken: number | null = null;
    using on = workshop({
      handle: () => Promise.resolve(COMPLETE),
      change: (options) => ({
        ...options,
        queue: {
          ...options.queue,
          claim(request) {
            if (request.laneId === broken) throw new Error("a bug");
            return options.queue.claim(request);
          },
        },
      }),
    });
    await on.worker.start();
    broken = on.queue.laneFor(1, "broken.example");
    await on.add(1, { destination: "broken.example" });
    await until(() => on.bugs.length === 1);
    await turn(100);
    expect(on.bugs).toHaveLength(1);
    await on.add(2, { destination: "other.example" });
    await until(() => on.attempts.length === 1);
    await on.advance(1_000);
    expect(on.bugs).toHaveLength(2);
    broken = null;
    await on.advance(1_000);
    await until(() => on.attempts.length === 2);
    await on.worker.idle();
    expect(on.depth()).toBe(0);
  });
});

describe("the mark before the dot", () => {
  test("rejects when it cannot be kept, so that the dot is not sent", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    on.setWritable(false);
    const error = await on.attempts[0]!.context.markPointOfNoReturn().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(isStorageError(error)).toBe(true);
    on.setWritable(true);
  });

  test("rejects when the row is no longer this attempt's", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    on.of.db.sqlite.run("UPDATE email_queue SET attempts = 2");
    expect(on.attempts[0]!.context.markPointOfNoReturn()).rejects.toThrow("taken from this attempt");
    let isHeld: boolean | null = null;
    on.attempts[0]!.end({ ...COMPLETE, record: (held) => void (isHeld = held) });
    await on.worker.idle();
    expect(isHeld as unknown).toBe(false);
    expect(on.row(1)).toBeDefined();
  });
});

describe("once a minute", () => {
  test("a row in flight that nobody works on is told as a bug, freed, and tried again", async () => {
    using on = workshop({ handle: () => Promise.resolve(COMPLETE) });
    await on.worker.start();
    const lane = on.queue.laneFor(1, "example.com");
    const now = on.clock.now();
    await on.of.committer.commit(() => {
      for (const id of [1, 2]) on.queue.add({ ...SOMEBODYS, id, laneId: lane, nextAt: now, expiresAt: now + 1e9 });
      const [, second] = on.queue.claim({ laneId: lane, now, limit: 2, retryAt: () => now + 2 * MINUTE });
      on.queue.markPointOfNoReturn(second!, now + 1);
    });
    await on.advance(MINUTE - 1);
    expect(on.bugs).toEqual([]);
    await on.advance(1);
    expect(on.bugs.map(({ where }) => where)).toEqual(["watch"]);
    expect(on.row(1)).toMatchObject({ inFlight: false, nextAt: now + 2 * MINUTE });
    expect(on.interrupted.map(({ id }) => id)).toEqual([2]);
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 2);
    await on.worker.idle();
    expect(on.depth()).toBe(0);
  });

  test("rows whose attempts run are left alone, however long they take", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    for (let i = 0; i < 30; i++) await on.advance(MINUTE);
    expect(on.bugs).toEqual([]);
    expect(on.attempts).toHaveLength(1);
    on.attempts[0]!.end(COMPLETE);
    await on.worker.idle();
    expect(on.row(1)).toBeUndefined();
  });

  test("a look that the storage does not answer is a line in the log, not the end of the process", async () => {
    let isBroken = false;
    using on = workshop({
      change: (options) => ({
        ...options,
        queue: {
          ...options.queue,
          listInFlight() {
            if (isBroken) throw new Error("SQLITE_IOERR");
            return options.queue.listInFlight();
          },
        },
      }),
    });
    await on.worker.start();
    isBroken = true;
    await on.advance(MINUTE);
    await on.advance(MINUTE);
    expect(on.bugs.map(({ where }) => where)).toEqual(["watch", "watch"]);
  });
});
