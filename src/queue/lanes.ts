// Which lane may start work next. A lane is one workspace's mail to one destination; it is known here
// only while it has rows that wait. Lanes stand in a heap by the time their first row is due. A lane
// that is due but at its limit stands aside until one of its jobs ends, so that a slow destination
// costs its neighbours nothing.

/** A destination that could not be reached is tried with one job at a time until it answers again. */
const UNREACHED_LIMIT = 1;

export interface Lane {
  readonly id: number;
  /** When its first waiting row is due; null: none is known to wait. */
  dueAt: number | null;
  running: number;
  /** A claim for it is being committed. */
  isClaiming: boolean;
  /** The earliest row announced while a claim was under way, which the claim may not have seen. */
  wokenAt: number | null;
  isReached: boolean;
  /** Its entry in the heap; an entry with another number is stale. */
  ticket: number;
}

interface Entry {
  dueAt: number;
  ticket: number;
  lane: Lane;
}

/** The lanes with work, and how much each may run at once (`limit`). */
export class Lanes {
  readonly #limit: number;
  readonly #lanes = new Map<number, Lane>();
  readonly #heap: Entry[] = [];
  #tickets = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A row of the lane is due at `dueAt`. */
  wake(laneId: number, dueAt: number): void {
    const lane = this.#lane(laneId);
    if (lane.isClaiming) {
      lane.wokenAt = earlier(lane.wokenAt, dueAt);
      return;
    }
    if (lane.dueAt !== null && lane.dueAt <= dueAt) return;
    lane.dueAt = dueAt;
    this.#push(lane);
  }

  /** The next lane that is due and may start `room` (≥ 1) jobs; it is marked as being claimed. */
  take(now: number): { lane: Lane; room: number } | null {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const { lane } = first;
      const isStale = first.ticket !== lane.ticket || lane.dueAt === null;
      if (!isStale && first.dueAt > now) return null;
      this.#pop();
      if (isStale || lane.isClaiming) continue;
      const room = (lane.isReached ? this.#limit : UNREACHED_LIMIT) - lane.running;
      if (room <= 0) continue; // ended() puts it back
      lane.isClaiming = true;
      return { lane, room };
    }
    return null;
  }

  /** A claim of the lane is committed: `started` jobs run, the next row is due at `dueAt`. */
  claimed(lane: Lane, started: number, dueAt: number | null): void {
    lane.running += started;
    lane.dueAt = dueAt;
    this.unclaimed(lane);
  }

  /** A claim of the lane failed: nothing has changed. */
  unclaimed(lane: Lane): void {
    lane.isClaiming = false;
    lane.dueAt = earlier(lane.dueAt, lane.wokenAt);
    lane.wokenAt = null;
    this.#settle(lane);
  }

  /** A job of the lane ended; `isReached`: its destination answered, null: nothing is known. */
  ended(laneId: number, isReached: boolean | null): void {
    const lane = this.#lane(laneId);
    lane.running -= 1;
    lane.isReached = isReached ?? lane.isReached;
    this.#settle(lane);
  }

  /** When the first lane that may start something is due, or null. */
  nextDueAt(): number | null {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.ticket === first.lane.ticket && first.lane.dueAt !== null) return first.dueAt;
      this.#pop();
    }
    return null;
  }

  #lane(id: number): Lane {
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = { id, dueAt: null, running: 0, isClaiming: false, wokenAt: null, isReached: true, ticket: 0 };
      this.#lanes.set(id, lane);
    }
    return lane;
  }

  #settle(lane: Lane): void {
    if (lane.dueAt !== null) this.#push(lane);
    else if (lane.running === 0 && !lane.isClaiming) this.#lanes.delete(lane.id);
  }

  #push(lane: Lane): void {
    if (lane.dueAt === null) return;
    lane.ticket = ++this.#tickets;
    const heap = this.#heap;
    heap.push({ dueAt: lane.dueAt, ticket: lane.ticket, lane });
    for (let at = heap.length - 1; at > 0; ) {
      const above = (at - 1) >> 1;
      if (!this.#swapIfEarlier(at, above)) break;
      at = above;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const child = right < heap.length && this.#isEarlier(right, left) ? right : left;
      if (!this.#swapIfEarlier(child, at)) break;
      at = child;
    }
  }

  #isEarlier(a: number, b: number): boolean {
    return (this.#heap[a]?.dueAt ?? Infinity) < (this.#heap[b]?.dueAt ?? Infinity);
  }

  #swapIfEarlier(below: number, above: number): boolean {
    if (!this.#isEarlier(below, above)) return false;
    const heap = this.#heap;
    const entry = heap[below];
    const other = heap[above];
    if (entry === undefined || other === undefined) return false;
    heap[below] = other;
    heap[above] = entry;
    return true;
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
