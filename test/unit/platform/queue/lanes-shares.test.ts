import { expect, test } from "bun:test";
import { Lanes } from "../../../../src/platform/queue/lanes.ts";

// The places of an instance, and how the lanes of several workspaces share them.

/** Lanes are numbered so that the workspace can be read off: 2003 is a lane of workspace 2. */
const workspaceOf = (laneId: number) => Math.floor(laneId / 1_000);

/** An instance whose destinations answer when the test says so. Its lanes never run dry. */
class Floor {
  readonly lanes: Lanes;
  readonly places: number;
  /** The lanes of the running jobs, the longest running first. */
  readonly running: number[] = [];
  /** Jobs started so far, by workspace. */
  readonly started = new Map<number, number>();

  constructor(places: number, limit = places) {
    this.places = places;
    this.lanes = new Lanes(limit, workspaceOf);
  }

  get free(): number {
    return this.places - this.running.length;
  }

  held(workspaceId: number): number {
    return this.running.filter((laneId) => workspaceOf(laneId) === workspaceId).length;
  }

  /** A workspace has rows for so many destinations. */
  arrive(workspaceId: number, destinations: number): void {
    for (let i = 0; i < destinations; i++) this.lanes.wake(workspaceId * 1_000 + i, 0);
    this.fill();
  }

  /** Starts all that may start. */
  fill(): void {
    while (this.free > 0) {
      const next = this.lanes.take(0, this.free);
      if (next === null) return;
      const { lane, room } = next;
      for (let i = 0; i < room; i++) this.running.push(lane.id);
      this.started.set(lane.workspaceId, (this.started.get(lane.workspaceId) ?? 0) + room);
      this.lanes.claimed(lane, room, room, { dueAt: 0, expiresAt: null });
    }
  }

  /** The job that runs longest ends. */
  endFirst(): void {
    const laneId = this.running.shift();
    if (laneId !== undefined) this.lanes.ended(laneId, true);
    this.fill();
  }
}

for (const { places, held } of [
  { places: 200, held: 100 },
  { places: 20, held: 10 },
  { places: 5, held: 3 },
  { places: 2, held: 1 },
  { places: 1, held: 1 },
]) {
  for (const destinations of [1, 60]) {
    test(`a workspace alone, with ${destinations} destinations, gets ${held} of ${places} places`, () => {
      const floor = new Floor(places);
      floor.arrive(1, destinations);
      expect(floor.held(1)).toBe(held);
      // Nothing of it can be started, and so no timer need run for it.
      expect(floor.lanes.take(0, floor.free || 1)).toBeNull();
      expect(floor.lanes.nextInHeapAt()).toBeNull();
    });
  }
}

test("two workspaces come to a third each, also when the first was alone before", () => {
  const floor = new Floor(30);
  floor.arrive(1, 60);
  expect(floor.held(1)).toBe(15);
  floor.arrive(2, 1);
  expect([floor.held(1), floor.held(2)]).toEqual([15, 8]);
  for (let i = 0; i < 200; i++) floor.endFirst();
  expect([floor.held(1), floor.held(2), floor.free]).toEqual([10, 10, 10]);
});

test("however slow the destinations of the others are, one more workspace finds a place", () => {
  const floor = new Floor(100);
  for (const workspaceId of [1, 2, 3, 4, 5, 6]) {
    floor.arrive(workspaceId, 60);
    expect(floor.held(workspaceId)).toBeGreaterThan(0);
  }
});

test("when more workspaces come than there are places, each has its turn as places come free", () => {
  const floor = new Floor(4);
  for (let workspaceId = 1; workspaceId <= 20; workspaceId++) floor.arrive(workspaceId, workspaceId === 1 ? 500 : 1);
  for (let i = 0; i < 400; i++) floor.endFirst();
  const started = Array.from({ length: 20 }, (_, i) => floor.started.get(i + 1) ?? 0);
  expect(Math.min(...started)).toBeGreaterThanOrEqual(19);
  expect(Math.max(...started)).toBeLessThanOrEqual(22);
});

test("within a workspace its destinations take turns, as if it were alone", () => {
  const floor = new Floor(2);
  floor.arrive(1, 3);
  floor.arrive(2, 1);
  const turns: number[] = [];
  for (let i = 0; i < 12; i++) {
    turns.push(...floor.running.slice(0, 1));
    floor.endFirst();
  }
  const ofFirst = turns.filter((laneId) => workspaceOf(laneId) === 1);
  expect(new Set(ofFirst.slice(0, 3))).toEqual(new Set([1_000, 1_001, 1_002]));
  expect(ofFirst.slice(3, 6)).toEqual(ofFirst.slice(0, 3));
});

test("places that a claim has taken are held before it is committed, and come back when it fails or finds less", () => {
  const lanes = new Lanes(100, workspaceOf);
  lanes.wake(1_000, 0);
  lanes.wake(1_001, 0);
  const first = lanes.take(0, 10);
  expect(first?.room).toBe(5);
  expect(lanes.take(0, 5)).toBeNull();
  lanes.unclaimed(first!.lane, first!.room);
  const second = lanes.take(0, 10);
  expect([second?.lane.id, second?.room]).toEqual([1_001, 5]);
  lanes.claimed(second!.lane, 5, 2, null);
  // Two of ten are held: of the eight left it may take three, which leaves five for five.
  const third = lanes.take(0, 8);
  expect([third?.lane.id, third?.room]).toEqual([1_000, 3]);
});

test("lanes that wait for a place need no timer, those that wait for their time do", () => {
  const lanes = new Lanes(100, workspaceOf);
  lanes.wake(1_000, 0);
  lanes.wake(1_001, 0);
  lanes.wake(2_000, 50);
  lanes.take(0, 10);
  expect(lanes.take(0, 5)).toBeNull();
  expect(lanes.nextDueAt()).toBe(0);
  expect(lanes.nextInHeapAt()).toBe(50);
  expect(lanes.take(50, 5)?.lane.id).toBe(2_000);
  expect(lanes.nextInHeapAt()).toBeNull();
});

test("a lane whose destination did not answer starts its next job after the pause, and at once when it answers again", () => {
  const lanes = new Lanes(4, () => 1);
  lanes.wake(1, 0);
  const first = lanes.take(0, 8);
  expect(first?.room).toBe(4);
  lanes.claimed(first!.lane, first!.room, 1, { dueAt: 0, expiresAt: null });
  lanes.ended(1, false, 1_000);
  expect(lanes.take(999, 8)).toBeNull();
  expect(lanes.nextInHeapAt()).toBe(1_000);
  lanes.wake(1, 0);
  expect(lanes.take(999, 8)).toBeNull();
  const next = lanes.take(1_000, 8);
  expect(next?.room).toBe(1);
  lanes.claimed(next!.lane, next!.room, 1, { dueAt: 0, expiresAt: null });
  lanes.ended(1, true, 2_000);
  expect(lanes.take(1_000, 8)?.room).toBe(4);
});
