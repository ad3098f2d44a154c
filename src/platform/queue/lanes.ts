// The lanes with waiting rows, and which of them may start work next.
//
// A lane is one workspace's work for one destination. Lanes stand in a heap by the time their first row is due; when that
// time has come they move to the end of their workspace's line (fair-scheduler.ts). The first of a line may start work
// and, if it has more, begins again at the end: a lane with a million rows costs another lane one turn, not a million. A
// lane that is due but at its limit stands aside until one of its jobs ends, so that a slow destination costs the others
// nothing.
//
// The limits of a lane's site (site-limits.ts) are asked before anything is claimed, so that a blocked site costs its
// rows nothing. Which site a lane leads to is known once the handler has looked it up for the first job; until then the
// lane runs one job, or as many as the limits allow.

import { LaneHeap } from "./lane-heap.ts";
import { Lane } from "./lane.ts";
import { type SiteLimits, SitePlaces } from "./site-limits.ts";
import { FairScheduler } from "./fair-scheduler.ts";

/** A destination that could not be reached is tried with one job at a time until it answers again. */
const UNREACHED_LIMIT = 1;
/** And so is one whose site is not known yet, unless the limits allow more. */
const UNLOCATED_LIMIT = 1;
/** Lanes whose site is remembered while they are idle. */
const MAX_LOCATED = 50_000;

/** The first row that waits in a lane; `expiresAt` null: not known. */
interface Head {
  dueAt: number;
  expiresAt: number | null;
}

/** The lanes with work, and how much each may run at once (`limit`). */
export class Lanes {
  readonly #limit: number;
  readonly #lanes = new Map<number, Lane>();
  readonly #heap = new LaneHeap();
  readonly #scheduler: FairScheduler<Lane>;
  readonly #findWorkspace: (laneId: number) => number;
  readonly #limits: SiteLimits | null;
  readonly #places: SitePlaces | null;
  /** The sites of lanes, those without rows included. */
  readonly #located = new Map<number, string>();
  #held = 0;

  /** `isHeld`: whether nothing of a workspace may start until release(). */
  constructor(
    limit: number,
    findWorkspace: (laneId: number) => number,
    limits: SiteLimits | null = null,
    isHeld: (workspaceId: number) => boolean = () => false,
  ) {
    this.#limit = limit;
    this.#findWorkspace = findWorkspace;
    this.#limits = limits;
    this.#scheduler = new FairScheduler(isHeld, "half");
    this.#places = limits === null ? null : new SitePlaces(limits, this.#scheduler);
  }

  /** A row of the lane is due at `dueAt`; null: when it expires is not known. */
  wake(laneId: number, dueAt: number, expiresAt: number | null = null): void {
    const lane = this.#getLane(laneId);
    lane.expiresAt = earlier(lane.expiresAt, expiresAt);
    if (lane.isClaiming) {
      lane.wokenAt = earlier(lane.wokenAt, dueAt);
      return;
    }
    if (lane.dueAt !== null && lane.dueAt <= dueAt) return;
    lane.dueAt = Math.max(dueAt, lane.pausedUntil);
    this.#put(lane);
  }

  /** The next lane that is due and may start `room` (≥ 1) of `free` jobs, which it holds from now on while it is claimed. */
  take(now: number, free: number): { lane: Lane; room: number } | null {
    this.#lineUpDue(now);
    const next = this.#takeFromLines(now, free);
    // The workspace whose turn it was at a site may have no share left, and must not keep the others from free places.
    return next === null && this.#places?.admitOthers() === true ? this.#takeFromLines(now, free) : next;
  }

  #takeFromLines(now: number, free: number): { lane: Lane; room: number } | null {
    const next = this.#scheduler.take(free, (lane) => this.#getRoom(lane, now));
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
    // Without a head only rows announced meanwhile wait, and their expiry is known.
    if (head !== null) lane.expiresAt = head.expiresAt;
    else if (lane.wokenAt === null) lane.expiresAt = null;
    this.unclaimed(lane, room - started);
  }

  /** A claim of the lane failed: it gives `room` places back, and nothing else has changed. */
  unclaimed(lane: Lane, room: number): void {
    lane.isClaiming = false;
    this.#giveBack(lane, room);
    lane.dueAt = earlier(lane.dueAt, lane.wokenAt);
    lane.wokenAt = null;
    this.#putBack(lane);
  }

  /** A job of the lane ended. `isReached`: its destination answered; null: not known. Unreached, the lane starts nothing before `pausedUntil`. */
  ended(laneId: number, isReached: boolean | null, pausedUntil = 0): void {
    const lane = this.#getLane(laneId);
    if (isReached === false) lane.pausedUntil = pausedUntil;
    else if (isReached === true) lane.pausedUntil = 0;
    lane.running -= 1;
    this.#giveBack(lane, 1);
    lane.isReached = isReached ?? lane.isReached;
    if (!lane.isClaiming) this.#putBack(lane);
  }

  /** The lane leads to this site from now on. */
  locate(laneId: number, site: string): void {
    const lane = this.#getLane(laneId);
    if (lane.site === site) return;
    if (this.#located.size >= MAX_LOCATED) this.#located.clear();
    this.#located.set(laneId, site);
    if (lane.site !== null) this.#places?.leave(lane, lane.site);
    lane.site = site;
    this.#places?.hold(lane, site, lane.held);
    if (!lane.isClaiming) this.#putBack(lane);
  }

  /** The site that the lane leads to; null: not known. */
  getSite(laneId: number): string | null {
    return this.#lanes.get(laneId)?.site ?? this.#located.get(laneId) ?? null;
  }

  /** The workspace is not held any more: its lanes get their turns. */
  release(workspaceId: number): void {
    this.#scheduler.release(workspaceId);
  }

  /** The lane was removed, and nothing of it waits or runs any more. */
  forget(laneId: number): void {
    this.#located.delete(laneId);
    const lane = this.#lanes.get(laneId);
    // The end of what is under way removes it.
    if (lane === undefined || lane.running > 0 || lane.isClaiming) return;
    this.#heap.remove(lane);
    this.#scheduler.remove(lane);
    if (lane.site !== null) this.#places?.leave(lane, lane.site);
    this.#lanes.delete(laneId);
  }

  /** The clock was set back: the times until which lanes pause are not valid any more. Their heads are to be woken again. */
  forgetPauses(): void {
    for (const lane of this.#lanes.values()) lane.pausedUntil = 0;
  }

  /** When the first lane that may start something is due, or null. */
  nextDueAt(): number | null {
    return (this.#scheduler.first ?? this.#heap.first)?.dueAt ?? null;
  }

  /** When the first lane falls due that does not stand in a line yet; lanes in a line wait for a place, not for a time. */
  nextInHeapAt(): number | null {
    return this.#heap.first?.dueAt ?? null;
  }

  /** Lanes held in memory. */
  get size(): number {
    return this.#lanes.size;
  }

  #getLane(id: number): Lane {
    let lane = this.#lanes.get(id);
    if (lane === undefined) {
      lane = new Lane(id, this.#findWorkspace(id), this.#located.get(id) ?? null);
      this.#lanes.set(id, lane);
    }
    return lane;
  }

  #lineUpDue(now: number): void {
    for (;;) {
      const { first } = this.#heap;
      if (first === undefined || (first.dueAt ?? 0) > now) return;
      this.#heap.removeFirst();
      this.#scheduler.enqueue(first);
    }
  }

  /** How many jobs may start in a lane that has just left its line; 0: it waits elsewhere now. */
  #getRoom(lane: Lane, now: number): number {
    const ofLane = (lane.isReached ? this.#limit : UNREACHED_LIMIT) - lane.running;
    if (ofLane <= 0) return 0; // ended() puts it back
    if (this.#limits === null) return ofLane;
    if (lane.site === null) {
      const limit = this.#limits.getMaxUnlocatedJobs?.(this.#held) ?? UNLOCATED_LIMIT;
      return Math.max(0, Math.min(ofLane, limit - lane.running)); // locate() or ended() puts it back
    }
    const until = this.#limits.getBlockEnd?.(lane.site, lane.workspaceId) ?? null;
    if (until !== null && until > now) {
      // Expired rows fail on time; the others that are claimed with them are released.
      if (lane.expiresAt === null || lane.expiresAt <= now) return ofLane;
      lane.pausedUntil = Math.max(lane.pausedUntil, Math.min(until, lane.expiresAt));
      this.#putBack(lane);
      return 0;
    }
    return Math.min(ofLane, this.#places?.getRoom(lane, lane.site) ?? ofLane);
  }

  #giveBack(lane: Lane, places: number): void {
    lane.held -= places;
    this.#held -= places;
    this.#scheduler.releasePlaces(lane.workspaceId, places);
    if (lane.site !== null) this.#places?.giveBack(lane, lane.site, places);
  }

  #putBack(lane: Lane): void {
    if (lane.dueAt !== null) {
      lane.dueAt = Math.max(lane.dueAt, lane.pausedUntil);
      this.#put(lane);
    } else if (lane.running === 0) this.#lanes.delete(lane.id);
  }

  #put(lane: Lane): void {
    if (lane.isAside || this.#scheduler.has(lane)) return;
    this.#heap.put(lane);
  }
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
