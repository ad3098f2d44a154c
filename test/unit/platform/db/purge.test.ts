import { expect, test } from "bun:test";
import { createWalkingPurge, type Walk } from "../../../../src/platform/db/purge.ts";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import { turn } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const MINUTE = 60_000;

/** A purge of `count` old rows, each of which takes `rowMs`; the batches that it removed, with their times. */
function purging({ count, rowMs }: { count: number; rowMs: () => number }) {
  const clock = fakeClock();
  let tookMs = 0;
  let isFull = false;
  const rows = Array.from({ length: count }, (_, index) => ({ id: index + 1, createdAt: 0 }));
  const batches: { rows: number; at: number }[] = [];
  const walk: Walk<{ id: number; createdAt: number }> = {
    find: (after, limit) => rows.filter(({ id }) => id > after).slice(0, limit),
    remove(batch) {
      if (isFull) throw new StorageError(Object.assign(new Error("full"), { code: "SQLITE_FULL" }));
      tookMs += batch.length * rowMs();
      batches.push({ rows: batch.length, at: clock.now() });
    },
  };
  const purge = createWalkingPurge(
    {
      commit: (work) => Promise.resolve().then(work as () => never),
      clock,
      steady: { ...clock, now: () => tookMs },
      log: { event: () => undefined, error: () => undefined },
      skipped: { try: () => Promise.reject(new Error("nothing is to be skipped")) },
    },
    "rows",
    walk,
    () => 1,
  );
  purge.start();
  return {
    batches,
    setFull: (is: boolean) => void (isFull = is),
    async pass(ms: number, stepMs = 5) {
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs);
        await turn();
      }
    },
    begin: () => clock.advance(MINUTE),
  };
}

test("the size of a batch follows the time that its rows take", async () => {
  let rowMs = 0.05;
  const on = purging({ count: 5_000, rowMs: () => rowMs });
  on.begin();
  await on.pass(1_500);
  const sizes = on.batches.map(({ rows }) => rows);
  expect(sizes.slice(5).every((size) => size >= 30 && size <= 65)).toBe(true);
  rowMs = 1;
  await on.pass(3_000);
  expect(on.batches.at(-1)?.rows).toBe(10);
});

test("the pause after a batch is 19 times as long as the batch took, and at least 20 ms", async () => {
  const slow = purging({ count: 1_000, rowMs: () => 0.4 });
  slow.begin();
  await slow.pass(1_000, 1);
  const [first, second] = slow.batches;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(19 * 50 * 0.4);
  const quick = purging({ count: 1_000, rowMs: () => 0 });
  quick.begin();
  await quick.pass(200, 1);
  expect((quick.batches[1]?.at ?? 0) - (quick.batches[0]?.at ?? 0)).toBeGreaterThanOrEqual(20);
});

test("a batch that the storage does not take comes again a minute later, whole", async () => {
  const on = purging({ count: 12, rowMs: () => 0 });
  on.setFull(true);
  on.begin();
  await turn(3);
  expect(on.batches).toEqual([]);
  on.setFull(false);
  await on.pass(MINUTE + 1_000, 50);
  expect(on.batches.reduce((sum, { rows }) => sum + rows, 0)).toBe(12);
});
