import { describe, expect, test } from "bun:test";
import { turn } from "../../../support/db/temporary.ts";
import { deferral, COMPLETE, RELEASE, MINUTE, SOMEBODYS, until, workshop } from "../../../support/queue/kit.ts";

test("a due row is handed to the handler with its claim committed, and is gone once its end is recorded", async () => {
  using on = workshop();
  await on.worker.start();
  await on.add(7);
  await until(() => on.attempts.length === 1);
  const [attempt] = on.attempts;
  expect(attempt!.job).toMatchObject({ id: 7, attempt: 1 });
  expect(on.row(7)).toMatchObject({ inFlight: true, attempts: 1, nextAt: on.clock.now() + MINUTE });
  const told: string[] = [];
  attempt!.end({
    ...COMPLETE,
    record: (isHeld) => void told.push(`record ${isHeld} in transaction ${on.of.db.sqlite.inTransaction}`),
    committed: () => void told.push(`committed, row ${on.row(7) === undefined ? "gone" : "there"}`),
  });
  await on.worker.idle();
  expect(told).toEqual(["record true in transaction true", "committed, row gone"]);
  expect(on.worker.runningCount).toBe(0);
});

test("a row that is deferred comes again when it is due, with its attempts counted", async () => {
  using on = workshop();
  await on.worker.start();
  await on.add(1);
  await until(() => on.attempts.length === 1);
  const at = on.clock.now() + 5 * MINUTE;
  on.attempts[0]!.end(deferral(at, "451 later"));
  await on.worker.idle();
  await on.advance(5 * MINUTE - 1);
  expect(on.attempts).toHaveLength(1);
  await on.advance(1);
  await until(() => on.attempts.length === 2);
  expect(on.attempts[1]!.job).toMatchObject({ attempt: 2, state: { lastReply: "451 later" }, startedAt: at });
});

test("a deferral without a time of its own goes by the schedule, from the end of the attempt", async () => {
  using on = workshop();
  await on.worker.start();
  await on.add(1);
  await until(() => on.attempts.length === 1);
  await on.advance(20_000);
  on.attempts[0]!.end(deferral(null));
  await on.worker.idle();
  expect(on.row(1)?.nextAt).toBe(on.clock.now() + MINUTE);
});

test("no row is put off past the end of its life, so that it is told off on time", async () => {
  using on = workshop({ lifeMs: 10_000 });
  await on.worker.start();
  await on.add(1);
  const expiresAt = on.clock.now() + 10_000;
  await until(() => on.attempts.length === 1);
  on.attempts[0]!.end(deferral(on.clock.now() + MINUTE));
  await on.worker.idle();
  expect(on.row(1)?.nextAt).toBe(expiresAt);
  await on.advance(10_000);
  await until(() => on.attempts.length === 2);
});

test("a row announced while its lane is being claimed is not forgotten", async () => {
  using on = workshop({ handle: () => Promise.resolve(COMPLETE) });
  await on.worker.start();
  const laneId = await on.add(1);
  // One turn of the loop at a time, with a nudge in each: some fall between a claim and its commit.
  for (let id = 2; id < 60; id++) {
    const now = on.clock.now();
    void on.of.committer
      .commit(() => on.queue.add({ ...SOMEBODYS, id, laneId, nextAt: now, expiresAt: now + MINUTE }))
      .then(() => on.worker.nudge(laneId, now));
    if (id % 3 === 0) await turn();
  }
  await until(() => on.attempts.length === 59);
  await on.worker.idle();
  expect(on.depth()).toBe(0);
});

test("a row that was given back and claimed again in one transaction runs, and is not taken for lost", async () => {
  let held: (() => void)[] | null = null;
  using on = workshop({
    change: (options) => ({
      ...options,
      commit: (work) =>
        held === null
          ? options.commit(work)
          : new Promise((resolve, reject) => held?.push(() => void options.commit(work).then(resolve, reject))),
    }),
  });
  await on.worker.start();
  const laneId = await on.add(1);
  await until(() => on.attempts.length === 1);
  const together: (() => void)[] = [];
  held = together;
  on.attempts[0]!.end(RELEASE);
  await until(() => together.length === 1);
  on.worker.nudge(laneId, on.clock.now());
  await until(() => together.length === 2);
  held = null;
  for (const commit of together) commit();
  await until(() => on.attempts.length === 2);
  expect(on.worker.runningCount).toBe(1);
  await on.advance(2 * MINUTE);
  expect(on.bugs).toEqual([]);
  expect(on.attempts).toHaveLength(2);
});

test("a nudge before the start is not lost", async () => {
  using on = workshop();
  await on.add(1);
  await turn(3);
  expect(on.attempts).toHaveLength(0);
  await on.worker.start();
  await until(() => on.attempts.length === 1);
});

test("rows that wait for their time in the database are found at the start", async () => {
  using on = workshop();
  const { queue, of } = on;
  const now = on.clock.now();
  const lane = queue.laneFor(1, "example.com");
  await of.committer.commit(() =>
    queue.add({ ...SOMEBODYS, id: 1, laneId: lane, nextAt: now + 3 * MINUTE, expiresAt: now + 1e9 }),
  );
  await on.worker.start();
  await on.worker.idle();
  expect(on.attempts).toHaveLength(0);
  await on.advance(3 * MINUTE);
  await until(() => on.attempts.length === 1);
});

describe("idle", () => {
  test("waits for what is due, running or being claimed, and not for what is due later", async () => {
    using on = workshop();
    await on.worker.start();
    await on.worker.idle();
    await on.add(1);
    await on.add(2, { dueAt: on.clock.now() + MINUTE });
    let isIdle = false;
    void on.worker.idle().then(() => (isIdle = true));
    await turn(20);
    expect(isIdle).toBe(false);
    on.attempts[0]!.end(COMPLETE);
    await until(() => isIdle);
    await on.worker.idle();
  });

  test("does not wait for a storage that fails", async () => {
    using on = workshop();
    await on.worker.start();
    on.setWritable(false);
    on.worker.nudge(1, on.clock.now());
    await on.worker.idle();
    expect(on.guard.failure).not.toBeNull();
  });
});

describe("time", () => {
  test("a wait of weeks is taken in steps that a timer can count", async () => {
    using on = workshop();
    await on.worker.start();
    const dueAt = on.clock.now() + 60 * 24 * 60 * MINUTE;
    await on.add(1, { dueAt });
    await on.worker.idle();
    for (let hour = 0; hour < 3; hour++) await on.advance(60 * MINUTE);
    expect(on.attempts).toHaveLength(0);
    // A longer one would run at once: setTimeout takes it for 1 ms.
    expect(on.longestDelayMs()).toBeLessThan(2 ** 31);
    on.setBack(on.clock.now() - dueAt);
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 1);
  });

  test("a row that waits costs a timer a minute, not a loop", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1, { dueAt: on.clock.now() + 60 * MINUTE });
    await on.worker.idle();
    const before = on.transactions();
    const timers = on.timersSet();
    for (let i = 0; i < 59; i++) await on.advance(MINUTE);
    expect(on.attempts).toHaveLength(0);
    expect(on.transactions()).toBe(before);
    // The worker's own, its watch's, and the guard's twelve looks.
    expect(on.timersSet() - timers).toBeLessThan(59 * 16);
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 1);
  });

  test("a clock that is set back neither stalls what comes in afterwards nor makes the worker spin", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1, { dueAt: on.clock.now() + MINUTE });
    await on.worker.idle();
    on.setBack(60 * MINUTE);
    await on.advance(MINUTE);
    const before = on.transactions();
    await turn(50);
    expect(on.transactions()).toBe(before);
    expect(on.attempts).toHaveLength(0);
    await on.add(2);
    await until(() => on.attempts.length === 1);
    on.attempts[0]!.end(COMPLETE);
    await on.worker.idle();
    for (let i = 0; i < 60; i++) await on.advance(MINUTE);
    await until(() => on.attempts.length === 2);
    expect(on.attempts[1]!.job.id).toBe(1);
  });

  test("a clock that is set back between the look at a lane and its claim does not stall the row", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1, { dueAt: on.clock.now() });
    on.setBack(5_000);
    await turn(10);
    expect(on.attempts).toHaveLength(0);
    await on.advance(5_000);
    await until(() => on.attempts.length === 1);
  });

  test("a clock that is set forward is noticed within a minute", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1, { dueAt: on.clock.now() + 60 * MINUTE });
    await on.worker.idle();
    on.setBack(-60 * MINUTE);
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 1);
  });
});
