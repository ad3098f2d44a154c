import { LaneHeap } from "./heap.ts";

// Which lane may start work next. A lane is one workspace's mail to one destination; it is known here
// only while it has rows that wait. Lanes stand in a heap by the time their first row is due; when
// that time has come they move to the end of a line, whose first may start work and, if it has more,
// begins again at the end: a lane with a million rows costs another lane one turn, not a million. A
// lane that is due but at its limit stands aside until one of its jobs ends, so that a slow
// destination costs its neighbours nothing. The lines of several workspaces take turns, and none holds
// more places than it leaves free, but for the odd one: one alone gets half of them, two a third each, so that
// whoever comes next finds a place, however slow the destinations of the others are.
//
// Many lanes may lead to one site (the mail hosts behind a domain), which bears only so much and may be
// blocked: what it allows is asked here before anything is claimed, so that a blocked site costs its
// messages nothing, and a full one holds no places. A lane that finds its site full stands aside until
// a job for that site ends. Which site a lane leads to is known once DNS was asked for its first job;
// until then it runs one.

/** A destination that could not be reached is tried with one job at a time until it answers again. */
const UNREACHED_LIMIT = 1;
/** And so is one whose site is not known yet. */
const UNLOCATED_LIMIT = 1;
/** Lanes whose site is remembered while they are idle. */
const MAX_LOCATED = 50_000;

/** What a site allows; names are those that `locate` was given. */
export interface SiteGate {
  /** Jobs that may run for it at once, at least 1. */
  jobsOf(site: string): number;
  /** Unix ms: nothing of it starts before; null: it may start. */
  blockedUntil(site: string): number | null;
}

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
  /** When the first of its waiting rows expires, as far as is known; null: not known. A blocked site does not keep it from failing then. */
  expiresAt: number | null;
  /** Its index in the heap; -1: it is not there. */
  place: number;
  /** Null: not known yet. */
  site: string | null;
  /** Places held: its running jobs and what its claim may start. */
  held: number;
  /** It waits for a job of its site to end. */
  isAside: boolean;
}

/** The first row that waits in a lane; null: when it expires is not known. */
interface Head {
  dueAt: number;
  expiresAt: number | null;
}

/** The lanes that lead to one site. */
interface Group {
  held: number;
  /** Due, and waiting for one of the held places; by workspace, in the order of their turns. */
  readonly aside: Map<number, Set<Lane>>;
}

/** The lanes with work, and how much each may run at once (`limit`). */
export class Lanes {
  readonly #limit: number;
  readonly #lanes = new Map<number, Lane>();
  readonly #heap = new LaneHeap();
  /** Due, by workspace, both in the order of their turns. */
  readonly #lines = new Map<number, Set<Lane>>();
  /** Places held by each workspace. */
  readonly #held = new Map<number, number>();
  readonly #workspaceOf: (laneId: number) => number;
  readonly #gate: SiteGate | null;
  readonly #groups = new Map<string, Group>();
  /** Sites for which lanes stand aside. */
  readonly #crowded = new Set<string>();
  /** Where lanes lead, those included that have no rows now. */
  readonly #located = new Map<number, string>();

  constructor(limit: number, workspaceOf: (laneId: number) => number, gate: SiteGate | null = null) {
    this.#limit = limit;
    this.#workspaceOf = workspaceOf;
    this.#gate = gate;
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
    return next === null && this.#admitOthers() ? this.#takeFromLines(now, free) : next;
  }

  #takeFromLines(now: number, free: number): { lane: Lane; room: number } | null {
    for (const [workspaceId, line] of this.#lines) {
      const held = this.#held.get(workspaceId) ?? 0;
      // Half of what it may still take, so that what it holds stays below what it leaves.
      const share = Math.ceil((free - held) / 2);
      if (share <= 0) continue;
      for (const lane of line) {
        line.delete(lane);
        const room = Math.min(this.#roomOf(lane, now), share);
        if (room <= 0) continue; // it was put where it waits
        this.#lines.delete(workspaceId);
        if (line.size > 0) this.#lines.set(workspaceId, line);
        this.#hold(lane, room);
        lane.isClaiming = true;
        return { lane, room };
      }
      this.#lines.delete(workspaceId);
    }
    return null;
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
    if (lane.site !== null) this.#leaveGroup(lane, lane.site);
    lane.site = site;
    this.#groupOf(site).held += lane.held;
    if (!lane.isClaiming) this.#settle(lane);
  }

  /** Where the lane leads, if that is known. */
  siteOf(laneId: number): string | null {
    return this.#lanes.get(laneId)?.site ?? this.#located.get(laneId) ?? null;
  }

  /** When the first lane that may start something is due, or null. */
  nextDueAt(): number | null {
    for (const line of this.#lines.values()) for (const lane of line) return lane.dueAt;
    return this.#heap.first?.dueAt ?? null;
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
      lane = {
        id,
        workspaceId: this.#workspaceOf(id),
        dueAt: null,
        running: 0,
        isClaiming: false,
        wokenAt: null,
        isReached: true,
        pausedUntil: 0,
        expiresAt: null,
        place: -1,
        site: this.#located.get(id) ?? null,
        held: 0,
        isAside: false,
      };
      this.#lanes.set(id, lane);
    }
    return lane;
  }

  #lineUpDue(now: number): void {
    for (;;) {
      const { first } = this.#heap;
      if (first === undefined || (first.dueAt ?? 0) > now) return;
      this.#heap.removeFirst();
      this.#lineUp(first);
    }
  }

  /** What may start in a lane that has just left its line; 0: it waits elsewhere now. */
  #roomOf(lane: Lane, now: number): number {
    const ofLane = (lane.isReached ? this.#limit : UNREACHED_LIMIT) - lane.running;
    if (ofLane <= 0) return 0; // ended() puts it back
    if (this.#gate === null) return ofLane;
    if (lane.site === null) return Math.min(ofLane, UNLOCATED_LIMIT - lane.running); // locate() or ended() puts it back
    const until = this.#gate.blockedUntil(lane.site);
    if (until !== null && until > now) {
      // What has expired fails on its time; the rest of what is claimed with it is given back.
      if (lane.expiresAt === null || lane.expiresAt <= now) return ofLane;
      lane.pausedUntil = Math.max(lane.pausedUntil, Math.min(until, lane.expiresAt));
      this.#settle(lane);
      return 0;
    }
    const group = this.#groupOf(lane.site);
    const ofSite = this.#gate.jobsOf(lane.site) - group.held;
    if (ofSite > 0) return Math.min(ofLane, ofSite);
    lane.isAside = true;
    const own = group.aside.get(lane.workspaceId);
    if (own === undefined) group.aside.set(lane.workspaceId, new Set([lane]));
    else own.add(lane);
    this.#crowded.add(lane.site);
    return 0;
  }

  #hold(lane: Lane, places: number): void {
    lane.held += places;
    this.#held.set(lane.workspaceId, (this.#held.get(lane.workspaceId) ?? 0) + places);
    if (lane.site !== null) this.#groupOf(lane.site).held += places;
  }

  #giveBack(lane: Lane, places: number): void {
    lane.held -= places;
    const held = (this.#held.get(lane.workspaceId) ?? 0) - places;
    if (held > 0) this.#held.set(lane.workspaceId, held);
    else this.#held.delete(lane.workspaceId);
    if (lane.site === null) return;
    this.#groupOf(lane.site).held -= places;
    this.#admit(lane.site);
  }

  #groupOf(site: string): Group {
    let group = this.#groups.get(site);
    if (group === undefined) {
      group = { held: 0, aside: new Map() };
      this.#groups.set(site, group);
    }
    return group;
  }

  #leaveGroup(lane: Lane, site: string): void {
    const group = this.#groupOf(site);
    group.held -= lane.held;
    if (lane.isAside) this.#bringBack(group, lane);
    this.#admit(site);
  }

  /** Lanes that stand aside for a site come back into their lines, as many as it has places, a workspace's after another's. */
  #admit(site: string): void {
    const group = this.#groupOf(site);
    // A blocked site's lanes wait for their time, in the heap.
    const isBlocked = this.#gate !== null && this.#gate.blockedUntil(site) !== null;
    let room = isBlocked ? Infinity : (this.#gate?.jobsOf(site) ?? 0) - group.held;
    while (room > 0 && group.aside.size > 0) {
      const [workspaceId, lanes] = firstOf(group.aside);
      const [lane] = lanes;
      // Its next turn is the last.
      group.aside.delete(workspaceId);
      group.aside.set(workspaceId, lanes);
      if (lane === undefined) break;
      this.#bringBack(group, lane);
      this.#lineUp(lane);
      room -= 1;
    }
    if (group.aside.size === 0) this.#crowded.delete(site);
    if (group.held <= 0 && group.aside.size === 0) this.#groups.delete(site);
  }

  /** At sites with free places, a lane of each workspace that has none in its line. True: there was one. */
  #admitOthers(): boolean {
    let isAny = false;
    for (const site of this.#crowded) {
      const group = this.#groupOf(site);
      if ((this.#gate?.jobsOf(site) ?? 0) <= group.held) continue;
      for (const [workspaceId, [lane]] of group.aside) {
        if (lane === undefined || (this.#lines.get(workspaceId)?.size ?? 0) > 0) continue;
        this.#bringBack(group, lane);
        this.#lineUp(lane);
        isAny = true;
      }
    }
    return isAny;
  }

  #bringBack(group: Group, lane: Lane): void {
    const own = group.aside.get(lane.workspaceId);
    own?.delete(lane);
    if (own?.size === 0) group.aside.delete(lane.workspaceId);
    lane.isAside = false;
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

  #put(lane: Lane): void {
    if (lane.isAside || this.#lines.get(lane.workspaceId)?.has(lane)) return;
    this.#heap.put(lane);
  }
}

function firstOf<K, V>(map: Map<K, V>): [K, V] {
  for (const entry of map) return entry;
  throw new Error("the map is empty");
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}
