import { LaneHeap } from "./lane-heap.ts";
import { type Lane, newLane } from "./lane.ts";
import { type SiteGate, SitePlaces } from "./site-limits.ts";
import { FairScheduler } from "./fair-scheduler.ts";

// Which lane may start work next. A lane is one workspace's mail to one destination; it is known here
// only while it has rows that wait. Lanes stand in a heap by the time their first row is due; when
// that time has come they move to the end of a line, whose first may start work and, if it has more,
// begins again at the end: a lane with a million rows costs another lane one turn, not a million. A
// lane that is due but at its limit stands aside until one of its jobs ends, so that a slow
// destination costs its neighbours nothing. The lines of several workspaces take turns (fair-scheduler.ts).
//
// What a lane's site allows (site-limits.ts) is asked before anything is claimed, so that a blocked site
// costs its messages nothing. Which site a lane leads to is known once DNS was asked for its first job;
// until then it runs one, or the few that the gate allows.

/** A destination that could not be reached is tried with one job at a time until it answers again. */
const UNREACHED_LIMIT = 1;
/** And so is one whose site is not known yet, unless its gate allows more. */
const UNLOCATED_LIMIT = 1;
/** Lanes whose site is remembered while they are idle. */
const MAX_LOCATED = 50_000;

/** The first row that waits in a lane; null: when it expires is not known. */
interface Head {
  dueAt: number;
  expiresAt: number | null;
}

/** The lanes with work, and how much each may run at once (`limit`). */
export class Lanes {
  readonly #limit: number;
  readonly #lanes = new Map<number, Lane>();
  readonly #heap = new LaneHeap();
  readonly #turns: FairScheduler<Lane>;
  readonly #workspaceOf: (laneId: number) => number;
  readonly #gate: SiteGate | null;
  readonly #places: SitePlaces | null;
  /** Where lanes lead, those included that have no rows now. */
  readonly #located = new Map<number, string>();
  /** Places held by all lanes. */
  #held = 0;

  /** `isHeld` tells whether nothing of a workspace may start, until release(). */
  constructor(
    limit: number,
    workspaceOf: (laneId: number) => number,
    gate: SiteGate | null = null,
    isHeld: (workspaceId: number) => boolean = () => false,
  ) {
    this.#limit = limit;
    this.#workspaceOf = workspaceOf;
    this.#gate = gate;
    this.#turns = new FairScheduler(isHeld, "half");
    this.#places = gate === null ? null : new SitePlaces(gate, this.#turns);
  }

  /** A row of the lane is due at `dueAt`; null: when it expires is not known. */
  wake(laneId: number, dueAt: number, expiresAt: number | null = null): void {
    const lane = this.#lane(laneId);
    lane.expiresAt = earlier(lane.expiresAt, expiresAt);
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
    this.#lineUpDue(now);
    const next = this.#takeFromLines(now, free);
    // Whose turn it was at a site may have no share left, and must not keep the others from its free places.
    return next === null && this.#places?.admitOthers() === true ? this.#takeFromLines(now, free) : next;
  }

  #takeFromLines(now: number, free: number): { lane: Lane; room: number } | null {
    const next = this.#turns.take(free, (lane) => this.#roomOf(lane, now));
    if (next === null) return null;
    const { item: lane, room } = next;
    lane.held += room;
    this.#held += room;
    if (lane.site !== null) this.#places?.hold(lane, lane.site, room);
    lane.isClaiming = true;
    return { lane, room };
  }

  /** A claim of `room` is committed: `started` jobs run, `head` is the next row. */
  claimed(lane: Lane, room: number, started: number, head: Head | null): void {
    lane.running += started;
    lane.dueAt = head?.dueAt ?? null;
    // Of rows announced meanwhile it is known; others there are none.
    if (head !== null) lane.expiresAt = head.expiresAt;
    else if (lane.wokenAt === null) lane.expiresAt = null;
    this.unclaimed(lane, room - started);
  }

  /** A claim of the lane failed: nothing has changed but the `room` it gives back. */
  unclaimed(lane: Lane, room: number): void {
    lane.isClaiming = false;
    this.#giveBack(lane, room);
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
    this.#giveBack(lane, 1);
    lane.isReached = isReached ?? lane.isReached;
    if (!lane.isClaiming) this.#settle(lane);
  }

  /** The lane leads to this site, as DNS said just now. */
  locate(laneId: number, site: string): void {
    const lane = this.#lane(laneId);
    if (lane.site === site) return;
    if (this.#located.size >= MAX_LOCATED) this.#located.clear();
    this.#located.set(laneId, site);
    if (lane.site !== null) this.#places?.leave(lane, lane.site);
    lane.site = site;
    this.#places?.hold(lane, site, lane.held);
    if (!lane.isClaiming) this.#settle(lane);
  }

  /** Where the lane leads, if that is known. */
  siteOf(laneId: number): string | null {
    return this.#lanes.get(laneId)?.site ?? this.#located.get(laneId) ?? null;
  }

  /** The workspace is not held any more: what of it stood apart gets its turns. */
  release(workspaceId: number): void {
    this.#turns.release(workspaceId);
  }

  /** The lane was removed, and nothing of it waits or runs any more. */
  forget(laneId: number): void {
    this.#located.delete(laneId);
    const lane = this.#lanes.get(laneId);
    // What is under way lets go of it in the end.
    if (lane === undefined || lane.running > 0 || lane.isClaiming) return;
    this.#heap.remove(lane);
    this.#turns.remove(lane);
    if (lane.site !== null) this.#places?.leave(lane, lane.site);
    this.#lanes.delete(laneId);
  }

  /** The clock was set back: the time to which a lane was put off is none any more. When its work is due is to be told anew. */
  forgetPauses(): void {
    for (const lane of this.#lanes.values()) lane.pausedUntil = 0;
  }

  /** When the first lane that may start something is due, or null. */
  nextDueAt(): number | null {
    return (this.#turns.first ?? this.#heap.first)?.dueAt ?? null;
  }

  /** When the first lane falls due that does not stand in a line yet: those in a line wait for a place, not for a time. */
  nextInHeapAt(): number | null {
    return this.#heap.first?.dueAt ?? null;
  }

  /** Lanes held in memory. */
  get size(): number {
    return this.#lanes.size;
  }

  #lane(id: number): Lane {
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = newLane(id, this.#workspaceOf(id), this.#located.get(id) ?? null);
      this.#lanes.set(id, lane);
    }
    return lane;
  }

  #lineUpDue(now: number): void {
    for (;;) {
      const { first } = this.#heap;
      if (first === undefined || (first.dueAt ?? 0) > now) return;
      this.#heap.removeFirst();
      this.#turns.lineUp(first);
    }
  }

  /** What may start in a lane that has just left its line; 0: it waits elsewhere now. */
  #roomOf(lane: Lane, now: number): number {
    const ofLane = (lane.isReached ? this.#limit : UNREACHED_LIMIT) - lane.running;
    if (ofLane <= 0) return 0; // ended() puts it back
    if (this.#gate === null) return ofLane;
    if (lane.site === null) {
      const limit = this.#gate.unlocatedJobs?.(this.#held) ?? UNLOCATED_LIMIT;
      return Math.max(0, Math.min(ofLane, limit - lane.running)); // locate() or ended() puts it back
    }
    const until = this.#gate.blockedUntil(lane.site, lane.workspaceId);
    if (until !== null && until > now) {
      // What has expired fails on its time; the rest of what is claimed with it is given back.
      if (lane.expiresAt === null || lane.expiresAt <= now) return ofLane;
      lane.pausedUntil = Math.max(lane.pausedUntil, Math.min(until, lane.expiresAt));
      this.#settle(lane);
      return 0;
    }
    return Math.min(ofLane, this.#places?.roomFor(lane, lane.site) ?? ofLane);
  }

  #giveBack(lane: Lane, places: number): void {
    lane.held -= places;
    this.#held -= places;
    this.#turns.giveBack(lane.workspaceId, places);
    if (lane.site !== null) this.#places?.giveBack(lane, lane.site, places);
  }

  #settle(lane: Lane): void {
    if (lane.dueAt !== null) {
      lane.dueAt = Math.max(lane.dueAt, lane.pausedUntil);
      this.#put(lane);
    } else if (lane.running === 0) this.#lanes.delete(lane.id);
  }

  #put(lane: Lane): void {
    if (lane.isAside || this.#turns.has(lane)) return;
    this.#heap.put(lane);
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
