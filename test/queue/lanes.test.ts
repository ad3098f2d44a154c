import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { type Lane, Lanes } from "../../src/queue/lanes.ts";
import { seeded } from "../db/temporary.ts";

/** Takes the next lane; its id and room, or null. */
const take = (lanes: Lanes, now: number) => {
  const taken = lanes.take(now);
  return taken === null ? null : [taken.lane.id, taken.room];
};

/** Takes the next lane and commits its claim at once. */
function claim(lanes: Lanes, now: number, started: number, nextDueAt: number | null): Lane {
  const taken = lanes.take(now);
  if (taken === null) throw new Error("no lane is due");
  lanes.claimed(taken.lane, started, nextDueAt);
  return taken.lane;
}

test("a lane is taken when its first row is due, and not before", () => {
  const lanes = new Lanes(10);
  lanes.wake(1, 500);
  expect(take(lanes, 499)).toBeNull();
  expect(lanes.nextDueAt()).toBe(500);
  expect(take(lanes, 500)).toEqual([1, 10]);
  expect(lanes.nextDueAt()).toBeNull();
});

test("lanes that come due at different times are taken in that order, however they were announced", () => {
  const lanes = new Lanes(1);
  const random = seeded(7);
  const times = Array.from({ length: 500 }, (_, i) => i).toSorted(() => random() - 0.5);
  for (const at of times) lanes.wake(at, at);
  const taken: number[] = [];
  for (let now = 0; now < 500; now++)
    for (let next = lanes.take(now); next !== null; next = lanes.take(now)) taken.push(next.lane.id);
  expect(taken).toEqual(Array.from({ length: 500 }, (_, i) => i));
});

test("an earlier row brings its lane forward, a later one does not put it off", () => {
  const lanes = new Lanes(1);
  lanes.wake(1, 500);
  lanes.wake(1, 900);
  expect(lanes.nextDueAt()).toBe(500);
  lanes.wake(1, 100);
  expect(lanes.nextDueAt()).toBe(100);
  expect(take(lanes, 100)).toEqual([1, 1]);
});

test("a lane at its limit is passed over until one of its jobs ends", () => {
  const lanes = new Lanes(3);
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
  const lanes = new Lanes(2);
  lanes.wake(1, 0);
  claim(lanes, 10, 2, 0);
  lanes.wake(2, 5);
  expect(take(lanes, 10)).toEqual([2, 2]);
});

test("lanes with a backlog take turns, so that a newcomer waits for one turn of each and not for their backlogs", () => {
  const lanes = new Lanes(100);
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
    const lanes = new Lanes(5);
    lanes.wake(1, 0);
    const taken = lanes.take(0);
    lanes.wake(1, 3);
    lanes.wake(1, 2);
    expect(take(lanes, 10)).toBeNull();
    lanes.claimed(taken!.lane, 0, null);
    expect(lanes.nextDueAt()).toBe(2);
    expect(take(lanes, 2)).toEqual([1, 5]);
  });

  test("does not hide an earlier one that the claim found", () => {
    const lanes = new Lanes(5);
    lanes.wake(1, 0);
    const taken = lanes.take(0);
    lanes.wake(1, 7);
    lanes.claimed(taken!.lane, 0, 4);
    expect(lanes.nextDueAt()).toBe(4);
  });

  test("is not lost when the claim fails", () => {
    const lanes = new Lanes(5);
    lanes.wake(1, 5);
    const taken = lanes.take(5);
    lanes.wake(1, 3);
    lanes.unclaimed(taken!.lane);
    expect(lanes.nextDueAt()).toBe(3);
  });
});

test("a job that ends while its lane is being claimed does not let it be claimed twice at once", () => {
  const lanes = new Lanes(3);
  lanes.wake(1, 0);
  claim(lanes, 0, 1, 0);
  const taken = lanes.take(0);
  lanes.ended(1, true);
  expect(take(lanes, 0)).toBeNull();
  lanes.claimed(taken!.lane, 2, 0);
  expect(take(lanes, 0)).toEqual([1, 1]);
});

describe("a destination that was not reached", () => {
  test("is tried with one job at a time until it answers", () => {
    const lanes = new Lanes(10);
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
    const lanes = new Lanes(10);
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
  const lanes = new Lanes(5);
  for (let id = 0; id < 100; id++) lanes.wake(id, 0);
  for (let id = 0; id < 100; id++) claim(lanes, 0, 1, null);
  expect(lanes.size).toBe(100);
  for (let id = 0; id < 100; id++) lanes.ended(id, true);
  expect(lanes.size).toBe(0);
  expect(lanes.nextDueAt()).toBeNull();
});

test("a lane whose next row is far off passes any number of messages meanwhile without being remembered each time", () => {
  const lanes = new Lanes(5);
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
  const lanes = new Lanes(1);
  lanes.wake(1, 1_000);
  lanes.wake(2, 1_000);
  expect(take(lanes, 1_000)).toEqual([1, 1]);
  expect(take(lanes, 0)).toEqual([2, 1]);
});

interface NaiveLane {
  rows: number[];
  running: number;
  isReached: boolean;
  /** It had nothing to do at some time, so that what was known of its destination may be forgotten. */
  wasIdle: boolean;
  /** Rows announced since its claim began. */
  unseen: number[] | null;
}

/** The same rules, written so plainly that they can be seen to hold: no heap, no line, nobody set aside. */
class NaiveLanes {
  readonly lanes = new Map<number, NaiveLane>();
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  lane(id: number): NaiveLane {
    const lane = this.lanes.get(id) ?? { rows: [], running: 0, isReached: true, wasIdle: false, unseen: null };
    this.lanes.set(id, lane);
    return lane;
  }

  room(lane: NaiveLane): number {
    return (lane.isReached ? this.limit : 1) - lane.running;
  }

  /** Lanes that must be able to start work now. */
  startable(now: number): Set<number> {
    const found = [...this.lanes].filter(
      ([, lane]) => lane.unseen === null && this.room(lane) > 0 && lane.rows.some((dueAt) => dueAt <= now),
    );
    return new Set(found.map(([id]) => id));
  }

  /** When the first lane that may start something has a row due. */
  nextDueAt(): number {
    return Math.min(
      ...[...this.lanes.values()]
        .filter((lane) => lane.unseen === null && this.room(lane) > 0)
        .flatMap((lane) => lane.rows),
    );
  }

  noteIdle(lane: NaiveLane): void {
    if (lane.rows.length === 0 && lane.running === 0 && lane.unseen === null) lane.wasIdle = true;
  }
}

/** Lanes and their model, through the same steps. */
class Walk {
  readonly #draw: (below: number) => number;
  readonly #lanes: Lanes;
  readonly #model: NaiveLanes;
  readonly #claims: { lane: Lane; room: number }[] = [];
  readonly #jobs: number[] = [];
  now = 0;
  taken = 0;
  /** Claims of lanes that turned out to have nothing due. */
  vain = 0;

  constructor(draw: (below: number) => number, limit: number) {
    this.#draw = draw;
    this.#lanes = new Lanes(limit);
    this.#model = new NaiveLanes(limit);
  }

  get isOver(): boolean {
    return this.#lanes.size === 0;
  }

  announce(id: number, dueAt: number): void {
    const mine = this.#model.lane(id);
    (mine.unseen ?? mine.rows).push(dueAt);
    this.#lanes.wake(id, dueAt);
  }

  finishClaim(): void {
    const [open] = this.#claims.splice(this.#draw(this.#claims.length), 1);
    if (open === undefined) return;
    const mine = this.#model.lane(open.lane.id);
    mine.rows.push(...(mine.unseen ?? []));
    mine.unseen = null;
    if (this.#draw(5) === 0) return this.#lanes.unclaimed(open.lane);
    // As the store does: the due rows, up to the room; the first of the rest says when the lane is due again.
    mine.rows.sort((a, b) => a - b);
    const started = mine.rows.filter((dueAt) => dueAt <= this.now).slice(0, open.room);
    mine.rows.splice(0, started.length);
    mine.running += started.length;
    if (started.length === 0) this.vain += 1;
    for (const _ of started) this.#jobs.push(open.lane.id);
    this.#lanes.claimed(open.lane, started.length, mine.rows[0] ?? null);
    this.#model.noteIdle(mine);
  }

  finishJob(): void {
    const [id] = this.#jobs.splice(this.#draw(this.#jobs.length), 1);
    if (id === undefined) return;
    const mine = this.#model.lane(id);
    const isReached = [true, false, null][this.#draw(3)] ?? null;
    if (this.#draw(3) === 0) this.announce(id, this.now + this.#draw(30)); // it was deferred
    mine.running -= 1;
    if (isReached !== null) [mine.isReached, mine.wasIdle] = [isReached, false];
    this.#lanes.ended(id, isReached);
    this.#model.noteIdle(mine);
  }

  /** Takes all there is, but now and then stops, as when the instance is full. */
  takeAll(): void {
    const startable = this.#model.startable(this.now);
    for (let next = this.#lanes.take(this.now); next !== null; next = this.#lanes.take(this.now)) {
      const mine = this.#model.lane(next.lane.id);
      expect(mine.unseen).toBeNull();
      if (mine.wasIdle && next.lane.isReached) mine.isReached = true;
      mine.wasIdle = false;
      expect([next.lane.id, next.room]).toEqual([next.lane.id, this.#model.room(mine)]);
      startable.delete(next.lane.id);
      mine.unseen = [];
      this.#claims.push(next);
      this.taken += 1;
      if (this.#draw(10) === 0) return;
    }
    expect([...startable]).toEqual([]);
    // What the timer is set for: never later than the first row that could start.
    const nextDueAt = this.#lanes.nextDueAt();
    expect(nextDueAt ?? Infinity).toBeLessThanOrEqual(this.#model.nextDueAt());
    // And never for what take() has just refused: the timer would run at once, for ever.
    expect(nextDueAt ?? Infinity).toBeGreaterThan(this.now);
  }
}

describe("against a naive model, lanes", () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`start all that may start, and never twice, through thousands of random steps (seed ${seed})`, () => {
      const random = seeded(seed);
      const draw = (below: number) => Math.floor(random() * below);
      const walk = new Walk(draw, 1 + draw(4));
      for (let step = 0; step < 4_000; step++) {
        const kind = draw(100);
        if (kind < 30) walk.announce(draw(8), walk.now + draw(60) - 20);
        else if (kind < 50) walk.finishClaim();
        else if (kind < 75) walk.finishJob();
        else if (kind < 85) walk.now += draw(20) - 2; // and sometimes back
        else walk.takeAll();
      }
      expect(walk.taken).toBeGreaterThan(300);
      expect(walk.vain).toBeLessThan(walk.taken / 2);
      // The end of the day: everything is worked off, and nothing is remembered.
      for (let round = 0; !walk.isOver && round < 10_000; round++) {
        walk.now += 10;
        walk.takeAll();
        walk.finishClaim();
        walk.finishJob();
      }
      expect(walk.isOver).toBe(true);
    });
  }
});
