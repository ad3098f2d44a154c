import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { Lanes } from "../../../../src/platform/queue/lanes.ts";
import type { Lane } from "../../../../src/platform/queue/lane.ts";
import { seeded } from "../../../support/db/temporary.ts";

/** Places enough that no workspace's share is felt. */
const PLENTY = 10_000;

/** Lanes of one workspace. */
const lanesOfOne = (limit: number) => new Lanes(limit, () => 1);

/** Takes the next lane; its id and room, or null. */
const take = (lanes: Lanes, now: number) => {
  const taken = lanes.take(now, PLENTY);
  return taken === null ? null : [taken.lane.id, taken.room];
};

/** Takes the next lane and commits its claim at once. */
function claim(lanes: Lanes, now: number, started: number, nextDueAt: number | null): Lane {
  const taken = lanes.take(now, PLENTY);
  if (taken === null) throw new Error("no lane is due");
  lanes.claimed(taken.lane, taken.room, started, nextDueAt === null ? null : { dueAt: nextDueAt, expiresAt: null });
  return taken.lane;
}

test("a lane is taken when its first row is due, and not before", () => {
  const lanes = lanesOfOne(10);
  lanes.wake(1, 500);
  expect(take(lanes, 499)).toBeNull();
  expect(lanes.nextDueAt()).toBe(500);
  expect(take(lanes, 500)).toEqual([1, 10]);
  expect(lanes.nextDueAt()).toBeNull();
});

test("lanes that come due at different times are taken in that order, however they were announced", () => {
  const lanes = lanesOfOne(1);
  const random = seeded(7);
  const times = Array.from({ length: 500 }, (_, i) => i).toSorted(() => random() - 0.5);
  for (const at of times) lanes.wake(at, at);
  const taken: number[] = [];
  for (let now = 0; now < 500; now++)
    for (let next = lanes.take(now, PLENTY); next !== null; next = lanes.take(now, PLENTY)) taken.push(next.lane.id);
  expect(taken).toEqual(Array.from({ length: 500 }, (_, i) => i));
});

test("an earlier row brings its lane forward, a later one does not put it off", () => {
  const lanes = lanesOfOne(1);
  lanes.wake(1, 500);
  lanes.wake(1, 900);
  expect(lanes.nextDueAt()).toBe(500);
  lanes.wake(1, 100);
  expect(lanes.nextDueAt()).toBe(100);
  expect(take(lanes, 100)).toEqual([1, 1]);
});

test("a lane at its limit is passed over until one of its jobs ends", () => {
  const lanes = lanesOfOne(3);
  lanes.wake(1, 0);
  claim(lanes, 0, 3, 0);
  expect(take(lanes, 0)).toBeNull();
  // Nothing can be started: no timer need be set for it.
  expect(lanes.nextDueAt()).toBeNull();
  lanes.wake(1, 0);
  expect(take(lanes, 0)).toBeNull();
  lanes.ended(1, true);
  expect(lanes.nextDueAt()).toBe(0);
  expect(take(lanes, 0)).toEqual([1, 1]);
});

test("a slow lane at its limit costs the others nothing", () => {
  const lanes = lanesOfOne(2);
  lanes.wake(1, 0);
  claim(lanes, 10, 2, 0);
  lanes.wake(2, 5);
  expect(take(lanes, 10)).toEqual([2, 2]);
});

test("lanes with a backlog take turns, so that a newcomer waits for one turn of each and not for their backlogs", () => {
  const lanes = lanesOfOne(100);
  for (const id of [1, 2, 3]) lanes.wake(id, id);
  const turns: number[] = [];
  // One job at a time, as when the instance is full; each of the three has rows due long ago.
  for (let now = 1_000; now < 1_012; now++) {
    if (now === 1_004) lanes.wake(4, now);
    const lane = claim(lanes, now, 1, 4);
    turns.push(lane.id);
    lanes.ended(lane.id, true);
  }
  expect(turns.slice(0, 4)).toEqual([1, 2, 3, 1]);
  expect(turns.slice(4, 8)).toContain(4);
  expect(new Set(turns.slice(8, 12))).toEqual(new Set([1, 2, 3, 4]));
});

describe("a row announced while its lane is being claimed", () => {
  test("wakes the lane again once the claim is committed", () => {
    const lanes = lanesOfOne(5);
    lanes.wake(1, 0);
    const taken = lanes.take(0, PLENTY);
    lanes.wake(1, 3);
    lanes.wake(1, 2);
    expect(take(lanes, 10)).toBeNull();
    lanes.claimed(taken!.lane, taken!.room, 0, null);
    expect(lanes.nextDueAt()).toBe(2);
    expect(take(lanes, 2)).toEqual([1, 5]);
  });

  test("does not hide an earlier one that the claim found", () => {
    const lanes = lanesOfOne(5);
    lanes.wake(1, 0);
    const taken = lanes.take(0, PLENTY);
    lanes.wake(1, 7);
    lanes.claimed(taken!.lane, taken!.room, 0, { dueAt: 4, expiresAt: null });
    expect(lanes.nextDueAt()).toBe(4);
  });

  test("is not lost when the claim fails", () => {
    const lanes = lanesOfOne(5);
    lanes.wake(1, 5);
    const taken = lanes.take(5, PLENTY);
    lanes.wake(1, 3);
    lanes.unclaimed(taken!.lane, taken!.room);
    expect(lanes.nextDueAt()).toBe(3);
  });
});

test("a job that ends while its lane is being claimed does not let it be claimed twice at once", () => {
  const lanes = lanesOfOne(3);
  lanes.wake(1, 0);
  claim(lanes, 0, 1, 0);
  const taken = lanes.take(0, PLENTY);
  lanes.ended(1, true);
  expect(take(lanes, 0)).toBeNull();
  lanes.claimed(taken!.lane, taken!.room, 2, { dueAt: 0, expiresAt: null });
  expect(take(lanes, 0)).toEqual([1, 1]);
});

describe("a destination that was not reached", () => {
  test("is tried with one job at a time until it answers", () => {
    const lanes = lanesOfOne(10);
    lanes.wake(1, 0);
    claim(lanes, 0, 1, 0);
    lanes.ended(1, false);
    claim(lanes, 0, 1, 0);
    expect(take(lanes, 0)).toBeNull();
    lanes.ended(1, null); // nothing is known: it stays so
    claim(lanes, 0, 1, 0);
    expect(take(lanes, 0)).toBeNull();
    lanes.ended(1, true);
    expect(take(lanes, 0)).toEqual([1, 10]);
  });

  test("starts nothing more while jobs of better days still run", () => {
    const lanes = lanesOfOne(10);
    lanes.wake(1, 0);
    claim(lanes, 0, 3, 0);
    lanes.ended(1, false);
    expect(take(lanes, 0)).toBeNull();
    lanes.ended(1, false);
    lanes.ended(1, false);
    expect(take(lanes, 0)).toEqual([1, 1]);
  });
});

test("a lane without rows and jobs is forgotten", () => {
  const lanes = lanesOfOne(5);
  for (let id = 0; id < 100; id++) lanes.wake(id, 0);
  for (let id = 0; id < 100; id++) claim(lanes, 0, 1, null);
  expect(lanes.size).toBe(100);
  for (let id = 0; id < 100; id++) lanes.ended(id, true);
  expect(lanes.size).toBe(0);
  expect(lanes.nextDueAt()).toBeNull();
});

test("a lane whose next row is far off passes any number of messages meanwhile without being remembered each time", () => {
  const lanes = lanesOfOne(5);
  const objects = () => {
    Bun.gc(true);
    return heapStats().objectTypeCounts["Object"] ?? 0;
  };
  const before = objects();
  const FAR = 10_000_000;
  lanes.wake(1, FAR);
  for (let now = 0; now < 20_000; now++) {
    lanes.wake(1, now);
    claim(lanes, now, 1, FAR);
    lanes.ended(1, true);
  }
  expect(objects() - before).toBeLessThan(5_000);
  expect(lanes.nextDueAt()).toBe(FAR);
});

test("a clock that is set back puts nothing off that was due", () => {
  const lanes = lanesOfOne(1);
  lanes.wake(1, 1_000);
  lanes.wake(2, 1_000);
  expect(take(lanes, 1_000)).toEqual([1, 1]);
  expect(take(lanes, 0)).toEqual([2, 1]);
});
