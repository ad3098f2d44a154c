import { expect, test } from "bun:test";
import { turn } from "../../../support/db/temporary.ts";
import { COMPLETE, until, workshop } from "../../../support/queue/kit.ts";

// How many attempts run at once, and whose.

for (const { workspaces, most } of [
  { workspaces: 1, most: 6 }, // no more than it leaves free
  { workspaces: 4, most: 12 },
]) {
  test(`all rows of all lanes of ${workspaces} workspaces get done within the limits: in all, and for each lane`, async () => {
    const running: number[] = [];
    const peaks = { all: 0, lane: 0 };
    using on = workshop({
      maxJobs: 12,
      maxJobsPerLane: 5,
      async handle({ id, laneId }) {
        running.push(laneId);
        peaks.all = Math.max(peaks.all, running.length);
        peaks.lane = Math.max(peaks.lane, running.filter((each) => each === laneId).length);
        await turn(1 + (id % 4));
        running.splice(running.indexOf(laneId), 1);
        return COMPLETE;
      },
    });
    await on.worker.start();
    const added = Array.from({ length: 200 }, (_, i) =>
      on.add(i + 1, { destination: `d${i % 7}.example`, workspaceId: 1 + (i % workspaces) }),
    );
    await Promise.all(added);
    await on.worker.idle();
    expect(on.depth()).toBe(0);
    expect(on.attempts).toHaveLength(200);
    expect(peaks).toEqual({ all: most, lane: 5 });
  });
}

test("a workspace whose attempts never end leaves places to another, and takes them up again when some end", async () => {
  using on = workshop({ maxJobs: 8, maxJobsPerLane: 8 });
  await on.worker.start();
  for (let id = 1; id <= 20; id++) await on.add(id, { destination: `d${id}.example` });
  await until(() => on.attempts.length === 4);
  await turn(20);
  expect(on.attempts).toHaveLength(4);
  await on.add(100, { workspaceId: 2 });
  await until(() => on.attempts.length === 5);
  expect(on.attempts[4]!.job.id).toBe(100);
  for (let ended = 0; ended < 21; ended++) {
    await until(() => on.attempts.length > ended);
    on.attempts[ended]!.end(COMPLETE);
  }
  await on.worker.idle();
  expect(on.depth()).toBe(0);
});

test("rows that wait for a place cost nothing until one comes free", async () => {
  using on = workshop({ maxJobs: 4 });
  await on.worker.start();
  for (let id = 1; id <= 9; id++) await on.add(id, { destination: `d${id}.example` });
  await until(() => on.attempts.length === 2);
  await turn(20);
  const [transactions, timers] = [on.transactions(), on.timersSet()];
  for (let ms = 0; ms < 100; ms++) await on.advance(1);
  expect([on.transactions(), on.timersSet()]).toEqual([transactions, timers]);
});
