import { describe, expect, test } from "bun:test";
import { emailQueue } from "../../../../src/platform/db/schema/schema.ts";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import type { EmailState } from "../../../../src/modules/emails/queue/store.ts";
import type { JobResult } from "../../../../src/platform/queue/handler.ts";
import { turn } from "../../../support/db/temporary.ts";
import { deferral, COMPLETE, MINUTE, until, workshop } from "../../../support/queue/kit.ts";

// Ends of attempts that a bug keeps from being written: of one row among others, and never sent again unmarked.

/** An end whose record throws as long as `isBroken()`. */
function broken(result: JobResult<EmailState>, isBroken = () => true) {
  const seen = { committed: 0, recorded: 0 };
  const told: JobResult<EmailState> = {
    ...result,
    record() {
      if (isBroken()) throw new TypeError("a bug");
      seen.recorded += 1;
    },
    committed: () => void seen.committed++,
  };
  return { ...seen, seen, told };
}

test("one of many that share a transaction stays in flight, is told once with its id, and the others are written", async () => {
  using on = workshop({ maxJobsPerLane: 4 });
  await on.worker.start();
  for (let id = 1; id <= 4; id++) await on.add(id);
  await until(() => on.attempts.length === 4);
  const { told, seen } = broken(COMPLETE);
  for (const { job, end } of on.attempts.slice()) end(job.id === 2 ? told : COMPLETE);
  await on.worker.idle();
  expect([1, 2, 3, 4].filter((id) => on.row(id) !== undefined)).toEqual([2]);
  expect(on.row(2)).toMatchObject({ inFlight: true, attempts: 1 });
  expect(on.bugs.map(({ where }) => where)).toEqual(["record"]);
  expect((on.bugs[0]!.error as Error).message).toContain("attempt 1 of row 2");
  expect(on.guard.failure).toBeNull();
  // Its place is free: the same destination goes on with as many as before.
  expect(on.worker.runningCount).toBe(0);
  for (let id = 5; id <= 8; id++) await on.add(id);
  await until(() => on.attempts.length === 8);
  for (const { end } of on.attempts.slice(4)) end(COMPLETE);
  for (let minute = 0; minute < 20; minute++) await on.advance(MINUTE);
  expect([on.attempts.length, on.bugs.length, on.depth()]).toEqual([8, 1, 1]);
  expect(seen).toEqual({ committed: 0, recorded: 0 });
});

test("it is an advisory trouble with a name and a cure, until a later try writes it", async () => {
  let isBroken = true;
  using on = workshop({
    change: (options) => ({
      ...options,
      handler: {
        attempt: (job, context) => options.handler.attempt(job, context),
        recordUncertain: (job) => options.handler.recordUncertain(job),
        getName: (id) => `email-${id}`,
      },
    }),
  });
  await on.worker.start();
  await on.add(1);
  await until(() => on.attempts.length === 1);
  const since = on.clock.now();
  const { told, seen } = broken(COMPLETE, () => isBroken);
  on.attempts[0]!.end(told);
  await on.worker.idle();
  expect(on.worker.issue).toMatchObject({ component: "worker", since, isAdvisory: true });
  expect(on.worker.issue?.reason).toContain("email-1");
  expect(on.worker.issue?.reason).toContain("pombo update");
  isBroken = false;
  await on.advance(MINUTE);
  expect([on.worker.issue, on.row(1), seen]).toEqual([null, undefined, { committed: 1, recorded: 1 }]);
});

describe("a deferral whose record throws", () => {
  test("is put off without it where nobody has taken the message", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    on.attempts[0]!.end(broken(deferral(null, "451")).told);
    await on.worker.idle();
    expect(on.row(1)).toMatchObject({ inFlight: false, attempts: 1, lastReply: "451" });
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 2);
    expect(on.worker.issue).toBeNull();
  });

  test("is not put off unmarked where the message may have been taken", async () => {
    let isBroken = true;
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    await on.attempts[0]!.context.markPointOfNoReturn();
    on.attempts[0]!.end({ ...broken(deferral(null), () => isBroken).told, isUncertain: true });
    await on.worker.idle();
    for (let minute = 0; minute < 20; minute++) await on.advance(MINUTE);
    expect(on.attempts).toHaveLength(1);
    expect(on.row(1)).toMatchObject({ inFlight: true, dotAt: expect.any(Number) as number });
    isBroken = false;
    await on.advance(MINUTE);
    expect(on.row(1)).toMatchObject({ inFlight: false, nextAt: on.clock.now() + MINUTE });
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 2);
  });

  test("after an attempt that a bug broke off behind its dot is not put off unmarked either", async () => {
    using on = workshop({
      recordUncertain() {
        throw new Error("a bug in the record of a bug");
      },
    });
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    await on.attempts[0]!.context.markPointOfNoReturn();
    on.attempts[0]!.fail(new Error("a bug"));
    await on.worker.idle();
    for (let minute = 0; minute < 20; minute++) await on.advance(MINUTE);
    expect([on.attempts.length, on.row(1)?.inFlight]).toEqual([1, true]);
    expect(on.bugs.map(({ where }) => where)).toEqual(["attempt", "record"]);
  });
});

test("a message that a bug breaks off behind its dot each time is sent three times at the most, then waits for its end", async () => {
  const lifeMs = 72 * 60 * MINUTE;
  using on = workshop({ lifeMs });
  await on.worker.start();
  await on.add(1);
  const expiresAt = on.clock.now() + lifeMs;
  for (let sent = 1; sent <= 3; sent++) {
    await until(() => on.attempts.length === sent);
    await on.attempts[sent - 1]!.context.markPointOfNoReturn();
    on.attempts[sent - 1]!.fail(new Error("a bug"));
    await on.worker.idle();
    await on.advance(10 * MINUTE);
  }
  expect(on.row(1)).toMatchObject({ attempts: 3, nextAt: expiresAt });
  expect(on.interrupted).toHaveLength(3);
  for (let minute = 0; minute < 60; minute++) await on.advance(MINUTE);
  expect(on.attempts).toHaveLength(3);
});

test("a stop does not wait for them, and the next start finds them as a crash leaves them", async () => {
  using on = workshop();
  await on.worker.start();
  await on.add(1);
  await until(() => on.attempts.length === 1);
  await on.attempts[0]!.context.markPointOfNoReturn();
  on.attempts[0]!.end(broken(COMPLETE).told);
  await on.worker.idle();
  await on.worker.stop(1_000);
  expect(on.queue.listInFlight()).toMatchObject([{ id: 1, attempts: 1, uncertainSince: expect.any(Number) as number }]);
});

test("a bug of all rows stops the sending before there is no end of messages in doubt", async () => {
  let isBroken = true;
  using on = workshop({
    maxJobs: 100,
    maxJobsPerLane: 100,
    handle: () => Promise.resolve(broken(COMPLETE, () => isBroken).told),
  });
  await on.worker.start();
  await Promise.all(Array.from({ length: 1_300 }, (_, i) => on.add(i + 1)));
  await turn(300);
  const { length } = on.attempts;
  expect(length).toBeGreaterThanOrEqual(1_000);
  expect(length).toBeLessThanOrEqual(1_100);
  expect(on.worker.issue?.reason).toContain("nothing more is sent");
  isBroken = false;
  await on.advance(MINUTE);
  await until(() => on.attempts.length === 1_300);
  await on.worker.idle();
  expect([on.depth(), on.worker.issue]).toEqual([0, null]);
});

/** What the storage says of the transaction that frees a row, or of the next one. */
const NO_SPACE = new StorageError(Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" }));

test.each(["what follows fails", "it is said to have failed though it is durable"] as const)(
  "a row that could not be freed at the start is not freed again under its next attempt where %s",
  async (trouble) => {
    let isBroken = true;
    let isFreed = false;
    using on = workshop({
      change: (options) => {
        const release: typeof options.queue.freeInterrupted = (row, nextAt) => {
          if (isBroken) throw new TypeError("a bug");
          isFreed = true;
          return options.queue.freeInterrupted(row, nextAt);
        };
        const heads = () => {
          if (isFreed && trouble === "what follows fails") throw NO_SPACE;
          return options.queue.listHeads();
        };
        let isTold = false;
        const commit: typeof options.commit = async (work) => {
          const value = await options.commit(work);
          if (!isFreed || isTold || trouble === "what follows fails") return value;
          isTold = true;
          throw NO_SPACE;
        };
        return { ...options, queue: { ...options.queue, freeInterrupted: release, listHeads: heads }, commit };
      },
    });
    const laneId = await on.add(1);
    const lost = { inFlight: true, attempts: 1, startedAt: 1, nextAt: on.clock.now() + MINUTE };
    await on.of.committer.commit(() => void on.of.db.orm.update(emailQueue).set(lost).run());
    await on.worker.start();
    expect([on.row(1)?.inFlight, on.bugs.map(({ where }) => where)]).toEqual([true, ["recover"]]);
    isBroken = false;
    await on.advance(MINUTE);
    on.worker.nudge(laneId, on.clock.now());
    await until(() => on.attempts.length === 1);
    await on.attempts[0]!.context.markPointOfNoReturn();
    await on.advance(MINUTE);
    await turn(20);
    expect(on.row(1)).toMatchObject({ inFlight: true, attempts: 2, dotAt: expect.any(Number) as number });
    expect([on.attempts.length, on.worker.issue]).toEqual([1, null]);
    on.attempts[0]!.end(COMPLETE);
    await on.worker.idle();
    expect([on.row(1), on.interrupted]).toEqual([undefined, []]);
  },
);

test("a row that could not be freed at the start begins its next attempt by itself once it can be", async () => {
  let isBroken = true;
  using on = workshop({
    change: (options) => {
      const release: typeof options.queue.freeInterrupted = (row, nextAt) => {
        if (isBroken) throw new TypeError("a bug");
        return options.queue.freeInterrupted(row, nextAt);
      };
      return { ...options, queue: { ...options.queue, freeInterrupted: release } };
    },
  });
  await on.add(1);
  const lost = { inFlight: true, attempts: 1, startedAt: 1, dotAt: 2, nextAt: on.clock.now() + MINUTE };
  await on.of.committer.commit(() => void on.of.db.orm.update(emailQueue).set(lost).run());
  await on.worker.start();
  isBroken = false;
  await on.advance(MINUTE);
  await until(() => on.attempts.length === 1);
  expect([on.attempts[0]!.job.attempt, on.interrupted.length, on.worker.issue]).toEqual([2, 1, null]);
});
