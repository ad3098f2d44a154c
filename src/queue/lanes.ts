// Which lane may start work next. A lane is one workspace's mail to one destination; it is known here
// only while it has rows that wait. Lanes stand in a heap by the time their first row is due; when
// that time has come they move to the end of a line, whose first may start work and, if it has more,
// begins again at the end: a lane with a million rows costs another lane one turn, not a million. A
// lane that is due but at its limit stands aside until one of its jobs ends, so that a slow
// destination costs its neighbours nothing. The lines of several workspaces take turns, and none holds
// more places than it leaves free, but for the odd one: one alone gets half of them, two a third each, so that
// whoever comes next finds a place, however slow the destinations of the others are.

/** A destination that could not be reached is tried with one job at a time until it answers again. */
const UNREACHED_LIMIT = 1;

export interface Lane {
  readonly id: number;
  readonly workspaceId: number;
  /** When its first waiting row is due; null: none is known to wait. */
  dueAt: number | null;
  running: number;
  /** A claim for it is being committed. */
  isClaiming: boolean;
  /** The earliest row announced while a claim was under way, which the claim may not have seen. */
  wokenAt: number | null;
  isReached: boolean;
  /** Nothing of it starts before this time: its destination has just not answered. */
  pausedUntil: number;
  /** Its index in the heap; -1: it is not there. */
  place: number;
}

/** The lanes with work, and how much each may run at once (`limit`). */
export class Lanes {
  readonly #limit: number;
  readonly #lanes = new Map<number, Lane>();
  /** A binary heap by dueAt, each lane in it once at the most: its size is bounded by the lanes. */
  readonly #heap: Lane[] = [];
  /** Due, by workspace, both in the order of their turns. */
  readonly #lines = new Map<number, Set<Lane>>();
  /** Places held by each workspace. */
  readonly #held = new Map<number, number>();
  readonly #workspaceOf: (laneId: number) => number;

  constructor(limit: number, workspaceOf: (laneId: number) => number) {
    this.#limit = limit;
    this.#workspaceOf = workspaceOf;
  }

  /** A row of the lane is due at `dueAt`. */
  wake(laneId: number, dueAt: number): void {
    const lane = this.#lane(laneId);
    if (lane.isClaiming) {
      lane.wokenAt = earlier(lane.wokenAt, dueAt);
      return;
    }
    if (lane.dueAt !== null && lane.dueAt <= dueAt) return;
    lane.dueAt = Math.max(dueAt, lane.pausedUntil);
    this.#put(lane);
  }

  /** The next lane that is due and may start `room` (≥ 1) of `free` jobs; it is marked as being claimed, its places as held. */
  take(now: number, free: number): { lane: Lane; room: number } | null {
    for (let first = this.#heap[0]; first !== undefined && (first.dueAt ?? 0) <= now; first = this.#heap[0]) {
      this.#removeFirst();
      this.#lineUp(first);
    }
    for (const [workspaceId, line] of this.#lines) {
      const held = this.#held.get(workspaceId) ?? 0;
      // Half of what it may still take, so that what it holds stays below what it leaves.
      const share = Math.ceil((free - held) / 2);
      if (share <= 0) continue;
      for (const lane of line) {
        line.delete(lane);
        const room = Math.min((lane.isReached ? this.#limit : UNREACHED_LIMIT) - lane.running, share);
        if (room <= 0) continue; // ended() puts it back
        this.#lines.delete(workspaceId);
        if (line.size > 0) this.#lines.set(workspaceId, line);
        this.#held.set(workspaceId, held + room);
        lane.isClaiming = true;
        return { lane, room };
      }
      this.#lines.delete(workspaceId);
    }
    return null;
  }

  /** A claim of `room` is committed: `started` jobs run, the next row is due at `dueAt`. */
  claimed(lane: Lane, room: number, started: number, dueAt: number | null): void {
    lane.running += started;
    lane.dueAt = dueAt;
    this.unclaimed(lane, room - started);
  }

  /** A claim of the lane failed: nothing has changed but the `room` it gives back. */
  unclaimed(lane: Lane, room: number): void {
    this.#giveBack(lane.workspaceId, room);
    lane.isClaiming = false;
    lane.dueAt = earlier(lane.dueAt, lane.wokenAt);
    lane.wokenAt = null;
    this.#settle(lane);
  }

  /** A job of the lane ended; `isReached`: its destination answered, null: nothing is known. Unreached, it starts nothing before `pausedUntil`. */
  ended(laneId: number, isReached: boolean | null, pausedUntil = 0): void {
    const lane = this.#lane(laneId);
    if (isReached === false) lane.pausedUntil = pausedUntil;
    else if (isReached === true) lane.pausedUntil = 0;
    lane.running -= 1;
    this.#giveBack(lane.workspaceId, 1);
    lane.isReached = isReached ?? lane.isReached;
    if (!lane.isClaiming) this.#settle(lane);
  }

  /** When the first lane that may start something is due, or null. */
  nextDueAt(): number | null {
    for (const line of this.#lines.values()) for (const lane of line) return lane.dueAt;
    return this.#heap[0]?.dueAt ?? null;
  }

  /** When the first lane falls due that does not stand in a line yet: those in a line wait for a place, not for a time. */
  nextInHeapAt(): number | null {
    return this.#heap[0]?.dueAt ?? null;
  }

  /** Lanes held in memory. */
  get size(): number {
    return this.#lanes.size;
  }

  #lane(id: number): Lane {
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = {
        id,
        workspaceId: this.#workspaceOf(id),
        dueAt: null,
        running: 0,
        isClaiming: false,
        wokenAt: null,
        isReached: true,
        pausedUntil: 0,
        place: -1,
      };
      this.#lanes.set(id, lane);
    }
    return lane;
  }

  #settle(lane: Lane): void {
    if (lane.dueAt !== null) {
      lane.dueAt = Math.max(lane.dueAt, lane.pausedUntil);
      this.#put(lane);
    } else if (lane.running === 0) this.#lanes.delete(lane.id);
  }

  #lineUp(lane: Lane): void {
    const line = this.#lines.get(lane.workspaceId);
    if (line === undefined) this.#lines.set(lane.workspaceId, new Set([lane]));
    else line.add(lane);
  }

  #giveBack(workspaceId: number, places: number): void {
    const held = (this.#held.get(workspaceId) ?? 0) - places;
    if (held > 0) this.#held.set(workspaceId, held);
    else this.#held.delete(workspaceId);
  }

  /** Into the heap, or to its new place there. */
  #put(lane: Lane): void {
    if (this.#lines.get(lane.workspaceId)?.has(lane)) return;
    if (lane.place < 0) lane.place = this.#heap.push(lane) - 1;
    this.#rise(lane);
    this.#sink(lane);
  }

  #removeFirst(): void {
    const first = this.#heap[0];
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return;
    first.place = -1;
    if (last === first) return;
    this.#set(0, last);
    this.#sink(last);
  }

  #rise(lane: Lane): void {
    while (lane.place > 0) {
      const above = this.#heap[(lane.place - 1) >> 1];
      if (above === undefined || !isBefore(lane, above)) return;
      this.#swap(lane, above);
    }
  }

  #sink(lane: Lane): void {
    for (;;) {
      const left = this.#heap[2 * lane.place + 1];
      if (left === undefined) return;
      const right = this.#heap[2 * lane.place + 2];
      const below = right !== undefined && isBefore(right, left) ? right : left;
      if (!isBefore(below, lane)) return;
      this.#swap(lane, below);
    }
  }

  #swap(a: Lane, b: Lane): void {
    const place = a.place;
    this.#set(b.place, a);
    this.#set(place, b);
  }

  #set(place: number, lane: Lane): void {
    this.#heap[place] = lane;
    lane.place = place;
  }
}

function isBefore(a: Lane, b: Lane): boolean {
  return (a.dueAt ?? 0) < (b.dueAt ?? 0);
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
