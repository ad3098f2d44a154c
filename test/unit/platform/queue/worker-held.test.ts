import { expect, test } from "bun:test";
import { turn } from "../../../support/db/temporary.ts";
import { deferral, COMPLETE, MINUTE, until, workshop, type WorkshopOptions } from "../../../support/queue/kit.ts";

// A workspace whose queue is held: nothing of it is claimed, and nothing of it is lost.

function heldWorkshop(options: WorkshopOptions = {}) {
  const held = new Set<number>();
  const on = workshop({
    ...options,
    change: (given) => ({ ...given, isHeld: (workspaceId) => held.has(workspaceId) }),
  });
  return Object.assign(on, { held });
}

test("rows of a held workspace are not touched and cost nothing, others' are done, and a release lets them go at once", async () => {
  using on = heldWorkshop({ handle: () => Promise.resolve(COMPLETE) });
  await on.worker.start();
  on.held.add(1);
  for (let id = 1; id <= 30; id++) await on.add(id, { destination: `d${id % 3}.example` });
  await on.add(100, { workspaceId: 2 });
  await on.worker.idle();
  expect(on.attempts.map(({ job }) => job.id)).toEqual([100]);
  const [transactions, timers] = [on.transactions(), on.timersSet()];
  for (let ms = 0; ms < 50; ms++) await on.advance(1);
  expect([on.transactions(), on.timersSet()]).toEqual([transactions, timers]);
  expect(on.row(7)).toMatchObject({ attempts: 0, inFlight: false });
  on.held.delete(1);
  on.worker.release(1);
  await on.worker.idle();
  expect(on.attempts.map(({ job }) => job.id).toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: 30 }, (_, i) => i + 1),
    100,
  ]);
  expect(on.depth()).toBe(0);
});

test("an attempt that runs when the hold begins ends as it would, and its retry waits for the release", async () => {
  using on = heldWorkshop();
  await on.worker.start();
  for (const id of [1, 2]) await on.add(id);
  await until(() => on.attempts.length === 2);
  on.held.add(1);
  on.attempts[0]?.end(COMPLETE);
  on.attempts[1]?.end(deferral(on.clock.now() + MINUTE));
  await on.worker.idle();
  expect([on.row(1), on.row(2)]).toEqual([undefined, expect.objectContaining({ attempts: 1, inFlight: false })]);
  await on.advance(10 * MINUTE);
  expect(on.attempts).toHaveLength(2);
  on.held.clear();
  on.worker.release(1);
  await until(() => on.attempts.length === 3);
  on.attempts[2]?.end(COMPLETE);
  await on.worker.idle();
  expect(on.depth()).toBe(0);
});

test("what waits of a held workspace is found held after a start, too", async () => {
  using on = heldWorkshop({ handle: () => Promise.resolve(COMPLETE) });
  for (let id = 1; id <= 3; id++) await on.add(id);
  await on.add(4, { workspaceId: 2 });
  on.held.add(1);
  await on.worker.start();
  await on.worker.idle();
  expect(on.attempts.map(({ job }) => job.id)).toEqual([4]);
  on.held.clear();
  on.worker.release(1);
  await on.worker.idle();
  expect(on.attempts).toHaveLength(4);
});

test("when it cannot be read whether a workspace is held, that is told and its mail goes on", async () => {
  using on = workshop({
    handle: () => Promise.resolve(COMPLETE),
    change: (given) => ({
      ...given,
      isHeld: () => {
        throw new Error("unreadable");
      },
    }),
  });
  await on.worker.start();
  await on.add(1);
  await on.worker.idle();
  await turn(3);
  expect([on.attempts.length, on.bugs.map(({ where }) => where).includes("lanes")]).toEqual([1, true]);
});
