import { describe, expect, test } from "bun:test";
import { FairScheduler } from "../../../../src/platform/queue/fair-scheduler.ts";

// Shares of places by themselves. (Half of what is left, as the lanes use it: lanes-shares.test.ts.)

/** What a workspace has waiting: so many that can start now. */
interface Work {
  workspaceId: number;
  count: number;
}

/** One claim of `free` places, all given back afterwards; how many each workspace got. */
function claim(works: Work[], free: number, isHeld: (workspaceId: number) => boolean = () => false): number[] {
  const scheduler = new FairScheduler<Work>(isHeld, "equal");
  const got = new Map<number, number>();
  for (const work of works) if (work.count > 0) scheduler.enqueue(work);
  let left = free;
  // The place is known to be unused only after it was taken, as with rows of a database.
  for (let next = scheduler.take(left, () => Infinity); next !== null; next = scheduler.take(left, () => Infinity)) {
    const { item, room } = next;
    const used = Math.min(item.count, room);
    item.count -= used;
    left -= used;
    scheduler.releasePlaces(item.workspaceId, room - used);
    got.set(item.workspaceId, (got.get(item.workspaceId) ?? 0) + used);
    if (used === room) scheduler.enqueue(item);
  }
  return works.map(({ workspaceId }) => got.get(workspaceId) ?? 0);
}

const works = (...counts: number[]): Work[] => counts.map((count, i) => ({ workspaceId: i + 1, count }));

describe("equal shares", () => {
  test("one workspace gets all places", () => expect(claim(works(100), 10)).toEqual([10]));
  test("several get an equal part", () => expect(claim(works(100, 100, 100), 9)).toEqual([3, 3, 3]));
  test("what one does not need goes to the others in equal parts", () => {
    expect(claim(works(100, 1, 100), 11)).toEqual([5, 1, 5]);
    expect(claim(works(1, 1, 100), 11)).toEqual([1, 1, 9]);
  });
  test("where there are fewer places than workspaces, the first in line get one each", () =>
    expect(claim(works(5, 5, 5, 5), 3)).toEqual([1, 1, 1, 0]));
  test("a held workspace takes no part", () =>
    expect(claim(works(100, 100), 10, (workspaceId) => workspaceId === 1)).toEqual([0, 10]));
  test("no place stays free while something waits, and no workspace that wants more gets less than another by two", () => {
    let state = 7;
    const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below;
    for (let run = 0; run < 500; run++) {
      const counts = Array.from({ length: 1 + random(6) }, () => random(30));
      const free = 1 + random(40);
      const got = claim(works(...counts), free);
      const sum = got.reduce((a, b) => a + b, 0);
      const wanted = counts.reduce((a, b) => a + b, 0);
      expect(sum).toBe(Math.min(free, wanted));
      const most = Math.max(...got);
      const unsatisfied = got.filter((each, i) => each < counts[i]!);
      for (const each of unsatisfied) expect(each).toBeGreaterThanOrEqual(most - 1);
    }
  });
});
