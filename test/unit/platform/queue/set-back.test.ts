import { expect, test } from "bun:test";
import { emailQueue } from "../../../../src/platform/db/schema/schema.ts";
import { eq } from "drizzle-orm";
import { deferral, COMPLETE, MINUTE, until, type Workshop, workshop } from "../../../support/queue/kit.ts";

// The clock is set back while rows wait: by an hour, by a day.

const HOUR = 60 * MINUTE;

async function attempted(on: Workshop, count: number): Promise<void> {
  await until(() => on.attempts.length === count);
}

/** A row whose acceptance has the time of `on.clock`, as the API writes it. */
async function add(on: Workshop, id: number, dueAt?: number): Promise<void> {
  await on.add(id, { destination: `${id}.test`, ...(dueAt === undefined ? {} : { dueAt }) });
  on.of.db.orm.update(emailQueue).set({ createdAt: on.clock.now() }).where(eq(emailQueue.id, id)).run();
}

for (const backMs of [HOUR, 24 * HOUR]) {
  test(`set back by ${backMs / HOUR} h: what was deferred waits as long as it was to, and no longer`, async () => {
    using on = workshop();
    await on.worker.start();
    await add(on, 1);
    await attempted(on, 1);
    on.attempts[0]!.end(deferral(null));
    await until(() => on.row(1)?.inFlight === false);
    // Not yet tried.
    await add(on, 2, on.clock.now() + 1_000);
    on.setBack(backMs);
    await on.worker.rescheduleAfterSetBack();
    await on.advance(1_000);
    await attempted(on, 2);
    expect(on.attempts[1]!.job.id).toBe(2);
    on.attempts[1]!.end(COMPLETE);
    await on.advance(MINUTE);
    await attempted(on, 3);
    expect(on.attempts[2]!.job).toMatchObject({ id: 1, attempt: 2 });
    expect(on.bugs).toEqual([]);
  });

  test(`set back by ${backMs / HOUR} h while an attempt runs: a crash leaves nothing that waits for the time of before`, async () => {
    using on = workshop();
    await on.worker.start();
    await add(on, 1);
    await attempted(on, 1);
    on.setBack(backMs);
    await on.worker.rescheduleAfterSetBack();
    const now = on.clock.now() - backMs;
    expect(on.row(1)).toMatchObject({ inFlight: true, startedAt: now, nextAt: now + MINUTE });
    // The running attempt ends as ever.
    on.attempts[0]!.end(deferral(null));
    await until(() => on.row(1)?.inFlight === false);
    await on.advance(MINUTE);
    await attempted(on, 2);
  });
}

test("an attempt that is given back after the clock was set back is made again at once, not when its old time comes", async () => {
  using on = workshop();
  await on.worker.start();
  await add(on, 1);
  await attempted(on, 1);
  on.setBack(HOUR);
  await on.worker.rescheduleAfterSetBack();
  on.attempts[0]!.end({ action: { kind: "release" }, isReached: null, record: () => undefined });
  await attempted(on, 2);
  expect(on.attempts[1]!.job).toMatchObject({ id: 1, attempt: 1 });
});

test("what is accepted in the transaction of the last look at the queue is sent on its time", async () => {
  let commits = 0;
  let isSetBack = false;
  using on: Workshop = workshop({
    change: (options) => ({
      ...options,
      commit(work) {
        const done = options.commit(work);
        commits += 1;
        // The first brings near.
        if (commits === 2 && isSetBack) void on.add(1, { dueAt: on.clock.now() - HOUR + MINUTE });
        return done;
      },
    }),
  });
  on.setBack(HOUR);
  await on.worker.start();
  [commits, isSetBack] = [0, true];
  await on.worker.rescheduleAfterSetBack();
  await until(() => on.row(1) !== undefined);
  await on.advance(MINUTE);
  await attempted(on, 1);
});

test("what was put off before the time that the clock shows now keeps its time, also when it is asked twice", async () => {
  using on = workshop({ scheduleMs: [6 * HOUR] });
  await on.worker.start();
  await add(on, 1);
  await attempted(on, 1);
  on.attempts[0]!.end(deferral(null));
  await until(() => on.row(1)?.inFlight === false);
  const { nextAt } = on.row(1)!;
  await on.advance(2 * HOUR);
  on.setBack(HOUR);
  await on.worker.rescheduleAfterSetBack();
  expect(on.row(1)?.nextAt).toBe(nextAt);
  on.setBack(2 * HOUR);
  for (const _ of [1, 2]) {
    await on.worker.rescheduleAfterSetBack();
    expect(on.row(1)?.nextAt).toBe(on.clock.now() - 3 * HOUR + 6 * HOUR);
  }
});

test("of many rows each is brought near, a share at a time", async () => {
  using on = workshop();
  const ROWS = 5_000;
  const now = on.clock.now();
  await on.of.committer.commit(() => {
    const laneId = on.queue.laneFor(1, "example.com");
    for (let id = 1; id <= ROWS; id += 1) {
      const row = { id, laneId, workspaceId: 1, domainId: 1, createdAt: now + HOUR, nextAt: now + HOUR };
      on.queue.add({ ...row, expiresAt: now + 100 * HOUR });
    }
  });
  const before = on.transactions();
  await on.worker.rescheduleAfterSetBack();
  expect(on.transactions() - before).toBe(4);
  expect(on.queue.listHeads()).toMatchObject([{ dueAt: now }]);
  const late = on.of.db.sqlite.query("SELECT count(*) AS n FROM email_queue WHERE next_at > ?").get(now);
  expect(late).toEqual({ n: 0 });
});
