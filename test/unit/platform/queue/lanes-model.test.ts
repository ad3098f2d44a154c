import { describe, expect, test } from "bun:test";
import { Lanes } from "../../../../src/platform/queue/lanes.ts";
import type { Lane } from "../../../../src/platform/queue/lane.ts";
import { seeded } from "../../../support/db/temporary.ts";

// Lanes against the same rules written so plainly that they can be seen to hold: no heap, no lines,
// nobody set aside, and what a workspace holds counted anew each time.

const WORKSPACES = 3;
const LANES = 9;
const workspaceOf = (laneId: number) => laneId % WORKSPACES;

interface NaiveLane {
  workspaceId: number;
  rows: number[];
  running: number;
  /** Places that its claim has taken. */
  claiming: number;
  isReached: boolean;
  /** It had nothing to do at some time, so that what was known of its destination may be forgotten. */
  wasIdle: boolean;
  /** Rows announced since its claim began. */
  unseen: number[] | null;
}

class NaiveLanes {
  readonly lanes = new Map<number, NaiveLane>();
  readonly limit: number;
  readonly places: number;

  constructor(limit: number, places: number) {
    this.limit = limit;
    this.places = places;
  }

  lane(id: number): NaiveLane {
    const found = this.lanes.get(id);
    if (found !== undefined) return found;
    const workspaceId = workspaceOf(id);
    const lane = { workspaceId, rows: [], running: 0, claiming: 0, isReached: true, wasIdle: false, unseen: null };
    this.lanes.set(id, lane);
    return lane;
  }

  held(workspaceId: number): number {
    const own = [...this.lanes.values()].filter((lane) => lane.workspaceId === workspaceId);
    return own.reduce((sum, lane) => sum + lane.running + lane.claiming, 0);
  }

  get free(): number {
    let free = this.places;
    for (let id = 0; id < WORKSPACES; id++) free -= this.held(id);
    return free;
  }

  /** What may start in the lane, its workspace's share aside. */
  roomOfLane(lane: NaiveLane): number {
    return (lane.isReached ? this.limit : 1) - lane.running;
  }

  room(lane: NaiveLane): number {
    return Math.min(this.roomOfLane(lane), Math.ceil((this.free - this.held(lane.workspaceId)) / 2));
  }

  /** Lanes that could start something, had they a row due. */
  open(): [number, NaiveLane][] {
    return [...this.lanes].filter(([, lane]) => lane.unseen === null && this.room(lane) > 0);
  }

  /** Lanes that must be able to start work now. */
  startable(now: number): number[] {
    return this.open().flatMap(([id, lane]) => (lane.rows.some((dueAt) => dueAt <= now) ? [id] : []));
  }

  /** When the first lane that could start something has a row due. */
  nextDueAt(): number {
    return Math.min(...this.open().flatMap(([, lane]) => lane.rows));
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
  /** Claims that had less room than their lane's limit left. */
  curbed = 0;

  constructor(draw: (below: number) => number, limit: number, places: number) {
    this.#draw = draw;
    this.#lanes = new Lanes(limit, workspaceOf);
    this.#model = new NaiveLanes(limit, places);
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
    mine.claiming = 0;
    if (this.#draw(5) === 0) return this.#lanes.unclaimed(open.lane, open.room);
    // As the store does: the due rows, up to the room; the first of the rest says when the lane is due again.
    mine.rows.sort((a, b) => a - b);
    const started = mine.rows.filter((dueAt) => dueAt <= this.now).slice(0, open.room);
    mine.rows.splice(0, started.length);
    mine.running += started.length;
    if (started.length === 0) this.vain += 1;
    for (const _ of started) this.#jobs.push(open.lane.id);
    this.#lanes.claimed(
      open.lane,
      open.room,
      started.length,
      mine.rows[0] === undefined ? null : { dueAt: mine.rows[0], expiresAt: null },
    );
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

  /** Takes all there is, but now and then stops. */
  takeAll(): void {
    for (let free = this.#model.free; free > 0; free = this.#model.free) {
      const next = this.#lanes.take(this.now, free);
      if (next === null) return this.#checkRest();
      const mine = this.#model.lane(next.lane.id);
      expect(mine.unseen).toBeNull();
      if (mine.wasIdle && next.lane.isReached) mine.isReached = true;
      mine.wasIdle = false;
      expect([next.lane.id, next.room]).toEqual([next.lane.id, this.#model.room(mine)]);
      if (next.room < this.#model.roomOfLane(mine)) this.curbed += 1;
      mine.unseen = [];
      mine.claiming = next.room;
      // None holds more than it leaves, but for the odd one.
      expect(this.#model.held(mine.workspaceId)).toBeLessThanOrEqual(this.#model.free + 1);
      this.#claims.push(next);
      this.taken += 1;
      if (this.#draw(10) === 0) return;
    }
  }

  /** There are places, and none was taken. */
  #checkRest(): void {
    expect(this.#model.startable(this.now)).toEqual([]);
    // What the timer is set for: never later than the first row that could start.
    const nextAt = this.#lanes.nextInHeapAt() ?? Infinity;
    expect(nextAt).toBeLessThanOrEqual(this.#model.nextDueAt());
    // And never for what take() has just refused: the timer would run at once, for ever.
    expect(nextAt).toBeGreaterThan(this.now);
  }

  /** The last place of all is to be had by each workspace: what leaks would keep it from that. */
  checkNothingHeld(): void {
    for (let id = 0; id < WORKSPACES; id++) {
      this.#lanes.wake(id, this.now);
      const next = this.#lanes.take(this.now, 1);
      expect([next?.lane.id, next?.room]).toEqual([id, 1]);
      this.#lanes.claimed(next!.lane, 1, 0, null);
    }
    expect(this.isOver).toBe(true);
  }
}

describe("against a naive model, lanes", () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    test(`start all that may start, never twice, within the shares, and hold nothing in the end (seed ${seed})`, () => {
      const random = seeded(seed);
      const draw = (below: number) => Math.floor(random() * below);
      const walk = new Walk(draw, 2 + draw(4), 4 + draw(20));
      for (let step = 0; step < 4_000; step++) {
        const kind = draw(100);
        if (kind < 30) walk.announce(draw(LANES), walk.now + draw(60) - 20);
        else if (kind < 50) walk.finishClaim();
        else if (kind < 75) walk.finishJob();
        else if (kind < 85) walk.now += draw(20) - 2; // and sometimes back
        else walk.takeAll();
      }
      expect(walk.taken).toBeGreaterThan(300);
      expect(walk.curbed).toBeGreaterThan(20);
      expect(walk.vain).toBeLessThan(walk.taken / 2);
      // The end of the day: everything is worked off, and nothing is remembered.
      for (let round = 0; !walk.isOver && round < 10_000; round++) {
        walk.now += 10;
        walk.takeAll();
        walk.finishClaim();
        walk.finishJob();
      }
      expect(walk.isOver).toBe(true);
      walk.checkNothingHeld();
    });
  }
});
