import { describe, expect, test } from "bun:test";
import type { EmailState } from "../../../../src/modules/emails/queue/store.ts";
import type { JobResult } from "../../../../src/platform/queue/handler.ts";
import { seeded, turn } from "../../../support/db/temporary.ts";
import {
  deferral,
  COMPLETE,
  RELEASE,
  MINUTE,
  SOMEBODYS,
  until,
  type Workshop,
  workshop,
} from "../../../support/queue/kit.ts";

// The start after a crash, the stop, and both ends under random trouble.

/** Rows in flight as a crash leaves them: 1 without and 2 with its dot marked. */
async function leaveInFlight(on: Workshop): Promise<number> {
  const { queue, of, clock } = on;
  const now = clock.now() - 5_000;
  await of.committer.commit(() => {
    const lane = queue.laneFor(1, "example.com");
    for (const id of [1, 2]) queue.add({ ...SOMEBODYS, id, laneId: lane, nextAt: now, expiresAt: now + 1e9 });
    const [, second] = queue.claim({ laneId: lane, now, limit: 2, retryAt: () => now + 10 * MINUTE });
    queue.markPointOfNoReturn(second!, now + 100);
  });
  return now;
}

describe("after a crash", () => {
  test("an attempt that sent nothing starts again within a second, one that may have been accepted keeps its delay", async () => {
    using on = workshop();
    const crashedAt = await leaveInFlight(on);
    await on.worker.start();
    expect(on.row(1)).toMatchObject({ inFlight: false, nextAt: on.clock.now() + 500, attempts: 1 });
    expect(on.row(2)).toMatchObject({ inFlight: false, nextAt: crashedAt + 10 * MINUTE, attempts: 1, dotAt: null });
    expect(on.interrupted).toEqual([{ id: 2, attempts: 1, startedAt: crashedAt, uncertainSince: crashedAt + 100 }]);
    expect(on.events).toEqual([
      { name: "queue.recovered", fields: { interrupted: 2, outcomeKnown: 0, outcomeUnknown: 1 } },
    ]);
    await on.advance(1_000);
    await until(() => on.attempts.length === 1);
    expect(on.attempts[0]!.job).toMatchObject({ id: 1, attempt: 2 });
    on.attempts[0]!.end(COMPLETE);
    await on.worker.idle();
    await on.advance(10 * MINUTE);
    await until(() => on.attempts.length === 2);
    expect(on.attempts[1]!.job).toMatchObject({ id: 2, attempt: 2 });
  });

  test("a row whose third attempt was cut off keeps its delay: it may be what brings the process down", async () => {
    using on = workshop();
    const { queue, of, clock } = on;
    const now = clock.now();
    await of.committer.commit(() => {
      const lane = queue.laneFor(1, "example.com");
      queue.add({ ...SOMEBODYS, id: 1, laneId: lane, nextAt: now, expiresAt: now + 1e9 });
      for (const again of [0, 0, MINUTE]) {
        const [job] = queue.claim({ laneId: lane, now, limit: 1, retryAt: () => now + again });
        if (again === 0) queue.retry(job!, { nextAt: now, state: { lastReply: null, badDomainAt: null } });
      }
    });
    await on.worker.start();
    expect(on.row(1)).toMatchObject({ inFlight: false, attempts: 3, nextAt: now + MINUTE });
  });

  test("what cannot be recorded, by a bug, holds up neither the start nor the other rows, and waits in flight until it can", async () => {
    let isBroken = true;
    using on = workshop({
      recordUncertain() {
        if (isBroken) throw new Error("a bug");
      },
    });
    await leaveInFlight(on);
    await on.worker.start();
    expect(on.bugs).toHaveLength(1);
    expect((on.bugs[0]!.error as Error).message).toContain("row 2");
    expect(on.row(1)?.inFlight).toBe(false);
    // It may have been taken, and nothing says so yet.
    expect(on.row(2)?.inFlight).toBe(true);
    await on.advance(1_000);
    await until(() => on.attempts.length === 1);
    on.attempts[0]!.end(COMPLETE);
    for (let minute = 0; minute < 10; minute++) await on.advance(MINUTE);
    expect([on.attempts.length, on.bugs.length]).toEqual([1, 1]);
    expect(on.worker.issue?.reason).toContain("row 2");
    isBroken = false;
    await on.advance(MINUTE);
    await until(() => on.attempts.length === 2);
    expect(on.attempts[1]!.job.id).toBe(2);
    expect(on.interrupted.map(({ id }) => id)).toEqual([2]);
    expect(on.worker.issue).toBeNull();
  });

  test("a storage that cannot be written at the start is waited for; then what was interrupted is recorded once", async () => {
    using on = workshop();
    await leaveInFlight(on);
    on.setWritable(false);
    await on.worker.start();
    await on.add(3).catch(() => undefined);
    for (let second = 0; second < 3; second++) await on.advance(1_000);
    expect(on.attempts).toHaveLength(0);
    expect(on.interrupted).toHaveLength(0);
    on.setWritable(true);
    await on.advance(1_000);
    await on.advance(1_000);
    await until(() => on.attempts.length === 1);
    expect(on.interrupted).toHaveLength(1);
    expect(on.events.filter(({ name }) => name === "queue.recovered")).toHaveLength(1);
  });

  test("nothing is claimed before the rows in flight are freed", async () => {
    using on = workshop();
    await leaveInFlight(on);
    const starting = on.worker.start();
    on.worker.nudge(on.queue.laneFor(1, "example.com"), on.clock.now());
    await starting;
    await turn(5);
    expect(on.attempts).toHaveLength(0);
    expect(on.row(1)?.attempts).toBe(1);
  });
});

describe("a stop", () => {
  test("of an idle worker is over at once and leaves no timer", async () => {
    using on = workshop();
    await on.worker.start();
    await on.worker.stop(MINUTE);
    void on.guard.stop();
    expect(on.clock.pending).toBe(0);
  });

  test("claims nothing more, waits for what runs, and records its end", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    let isStopped = false;
    const stopped = on.worker.stop(MINUTE).then(() => (isStopped = true));
    expect(on.attempts[0]!.context.stopping.aborted).toBe(true);
    expect(on.attempts[0]!.context.cutOff.aborted).toBe(false);
    await on.add(2);
    await turn(20);
    expect(isStopped).toBe(false);
    on.attempts[0]!.end(COMPLETE);
    await stopped;
    expect(on.row(1)).toBeUndefined();
    expect(on.attempts).toHaveLength(1);
    expect(on.row(2)).toMatchObject({ attempts: 0, inFlight: false });
  });

  test("gives back what was not begun, as if it had never been claimed", async () => {
    using on = workshop();
    await on.worker.start();
    const dueAt = on.clock.now() - 7;
    await on.add(1, { dueAt });
    await until(() => on.attempts.length === 1);
    const stopped = on.worker.stop(MINUTE);
    on.attempts[0]!.end(RELEASE);
    await stopped;
    expect(on.row(1)).toMatchObject({ attempts: 0, inFlight: false, nextAt: dueAt });
  });

  test("gives back a claim whose commit was still on its way, without asking the handler", async () => {
    using on = workshop();
    await on.worker.start();
    const dueAt = on.clock.now();
    await on.add(1, { dueAt });
    // The tick has run, and the claim waits for its transaction.
    await turn();
    expect(on.row(1)?.inFlight).toBe(false);
    await on.worker.stop(MINUTE);
    expect(on.attempts).toHaveLength(0);
    expect(on.row(1)).toMatchObject({ attempts: 0, inFlight: false, nextAt: dueAt });
  });

  test("cuts off what still runs after the grace", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    const [attempt] = on.attempts;
    attempt!.context.cutOff.addEventListener("abort", () => attempt!.end(deferral(null, "cut off")));
    const stopped = on.worker.stop(25_000);
    await on.advance(24_999);
    expect(attempt!.context.cutOff.aborted).toBe(false);
    await on.advance(1);
    await stopped;
    expect(on.row(1)).toMatchObject({ lastReply: "cut off", inFlight: false });
  });

  test("waits for the storage to take the last ends for 18 s beyond the grace, since they would be sent again", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1);
    await until(() => on.attempts.length === 1);
    let isStopped = false;
    on.setWritable(false);
    on.attempts[0]!.end(COMPLETE);
    await until(() => on.guard.failure !== null);
    const stopped = on.worker.stop(1_000).finally(() => (isStopped = true));
    for (let second = 0; second < 18; second++) await on.advance(1_000);
    expect(isStopped).toBe(false);
    on.setWritable(true);
    await on.advance(1_000);
    expect(await stopped).toBe(0);
    expect(on.row(1)).toBeUndefined();
  });

  test("gives up what the storage does not take in that time, says how many, and leaves them as a crash does", async () => {
    using on = workshop();
    await on.worker.start();
    for (const id of [1, 2]) await on.add(id, { destination: `${id}.test` });
    await until(() => on.attempts.length === 2);
    on.setWritable(false);
    for (const attempt of on.attempts) attempt.end(COMPLETE);
    await until(() => on.guard.failure !== null);
    const stopped = on.worker.stop(1_000);
    for (let second = 0; second < 20; second++) await on.advance(1_000);
    expect(await stopped).toBe(2);
    on.setWritable(true);
    await on.advance(MINUTE);
    expect([on.row(1)?.inFlight, on.row(2)?.inFlight]).toEqual([true, true]);
  });

  test("while the storage fails and nothing runs is over at once", async () => {
    using on = workshop();
    await on.worker.start();
    await on.add(1, { dueAt: on.clock.now() + 10 });
    await on.worker.idle();
    on.setWritable(false);
    await on.advance(10);
    expect(on.guard.failure).not.toBeNull();
    await on.worker.stop(MINUTE);
    on.setWritable(true);
    await on.advance(10_000);
    expect(on.attempts).toHaveLength(0);
  });

  test("during the recovery at the start is over, and nothing begins", async () => {
    using on = workshop();
    await leaveInFlight(on);
    const starting = on.worker.start();
    await on.worker.stop(MINUTE);
    await starting;
    await on.advance(5_000);
    expect(on.attempts).toHaveLength(0);
    void on.guard.stop();
    expect(on.clock.pending).toBe(0);
  });
});

/** What came of the rows of a random run. */
interface Tally {
  /** Writes that a row is done; a second time would break a constraint. */
  recordDone: (id: number) => void;
  running: Set<number>;
  twiceAtOnce: number;
  most: number;
}

/** Ends attempts at random: most finish, some are deferred, some throw, some mark their dot. */
async function endAtRandom(
  draw: () => number,
  tally: Tally,
  attempt: { id: number; markDot: () => Promise<void> },
): Promise<JobResult<EmailState>> {
  const { id, markDot } = attempt;
  if (tally.running.has(id)) tally.twiceAtOnce += 1;
  tally.running.add(id);
  tally.most = Math.max(tally.most, tally.running.size);
  try {
    await turn(Math.floor(draw() * 4));
    const kind = draw();
    if (kind < 0.15) throw new Error("a bug");
    await markDot();
    if (kind < 0.4) return deferral(null);
    const record = (isHeld: boolean) => (isHeld ? tally.recordDone(id) : undefined);
    return { ...COMPLETE, isReached: [true, false, null][Math.floor(draw() * 3)] ?? null, record };
  } finally {
    tally.running.delete(id);
  }
}

describe("under random trouble with the storage, bugs and deferrals", () => {
  for (const seed of [11, 12, 13]) {
    test(`every row ends exactly once, none is worked on twice at once, and nothing is left (seed ${seed})`, async () => {
      const draw = seeded(seed);
      const recordDone = (id: number) => on.of.db.sqlite.run("INSERT INTO instance VALUES (?, 'done')", [`row ${id}`]);
      const tally: Tally = { recordDone, running: new Set(), twiceAtOnce: 0, most: 0 };
      using on = workshop({
        maxJobs: 8,
        maxJobsPerLane: 3,
        handle: (job, context) => endAtRandom(draw, tally, { id: job.id, markDot: context.markPointOfNoReturn }),
      });
      await on.worker.start();
      const added: Promise<unknown>[] = [];
      let isWritable = true;
      for (let id = 1; id <= 150; id++) {
        const destination = `d${Math.floor(draw() * 5)}.example`;
        const dueAt = on.clock.now() + Math.floor(draw() * 3_000);
        added.push(
          on.add(id, { destination, dueAt, workspaceId: 1 + (id % 3) }).then(
            () => true,
            () => false,
          ),
        );
        if (draw() < 0.1) on.setWritable((isWritable = !isWritable));
        if (draw() < 0.3) on.clock.advance(Math.floor(draw() * 2_000));
        await turn(Math.floor(draw() * 3));
      }
      on.setWritable(true);
      for (let i = 0; i < 400 && on.depth() > 0; i++) await on.advance(MINUTE / 2);
      const accepted = (await Promise.all(added)).filter(Boolean).length;
      expect(on.depth()).toBe(0);
      expect(on.of.db.sqlite.query("SELECT * FROM instance WHERE value = 'done'").all()).toHaveLength(accepted);
      expect(accepted).toBeGreaterThan(50);
      expect(tally.twiceAtOnce).toBe(0);
      expect(tally.most).toBeLessThanOrEqual(8);
      expect(on.worker.runningCount).toBe(0);
      expect(new Set(on.bugs.map(({ where }) => where))).toEqual(new Set(["attempt"]));
      await on.worker.stop(0);
    });
  }
});
