import type { Lane } from "./lane.ts";
import type { FairScheduler } from "./fair-scheduler.ts";

// Many lanes may lead to one site (the mail hosts behind a domain), which bears only so much and may be
// blocked. A lane that finds its site full stands aside until a job for that site ends, and holds no
// places meanwhile.

/** What a site allows; names are those that `locate` was given. */
export interface SiteGate {
  /** Jobs that may run for it at once, at least 1. */
  jobsOf(site: string): number;
  /** Of these, how many may be of one workspace; absent: all. */
  ownJobsOf?(site: string, workspaceId: number): number;
  /** Unix ms: nothing of a workspace (null: of anybody) starts before; null: it may start. */
  blockedUntil(site: string, workspaceId: number | null): number | null;
  /** Jobs that a lane may run whose site is not known yet, while `held` places are taken in all; absent: 1. */
  unlocatedJobs?(held: number): number;
}

/** The lanes that lead to one site. */
interface Group {
  held: number;
  /** The same by workspace. */
  readonly heldBy: Map<number, number>;
  /** Due, and waiting for one of the held places; by workspace, in the order of their turns. */
  readonly aside: Map<number, Set<Lane>>;
}

export class SitePlaces {
  readonly #gate: SiteGate;
  readonly #turns: FairScheduler<Lane>;
  readonly #groups = new Map<string, Group>();
  /** Sites for which lanes stand aside. */
  readonly #crowded = new Set<string>();

  constructor(gate: SiteGate, turns: FairScheduler<Lane>) {
    this.#gate = gate;
    this.#turns = turns;
  }

  /** Places that the lane's site has left; 0: the lane stands aside now. */
  roomFor(lane: Lane, site: string): number {
    const group = this.#groupOf(site);
    const room = Math.min(this.#gate.jobsOf(site) - group.held, this.#ownRoom(group, site, lane.workspaceId));
    if (room > 0) return room;
    lane.isAside = true;
    const own = group.aside.get(lane.workspaceId);
    if (own === undefined) group.aside.set(lane.workspaceId, new Set([lane]));
    else own.add(lane);
    this.#crowded.add(site);
    return 0;
  }

  hold(lane: Lane, site: string, places: number): void {
    count(this.#groupOf(site), lane, places);
  }

  giveBack(lane: Lane, site: string, places: number): void {
    count(this.#groupOf(site), lane, -places);
    this.#admit(site);
  }

  /** The lane leads elsewhere from now on. */
  leave(lane: Lane, site: string): void {
    const group = this.#groupOf(site);
    count(group, lane, -lane.held);
    if (lane.isAside) bringBack(group, lane);
    this.#admit(site);
  }

  /** At sites with free places, a lane of each workspace that has none in its line. True: there was one. */
  admitOthers(): boolean {
    let isAny = false;
    for (const site of this.#crowded) {
      const group = this.#groupOf(site);
      if (this.#gate.jobsOf(site) <= group.held) continue;
      for (const [workspaceId, [lane]] of group.aside) {
        if (lane === undefined || this.#turns.isWaiting(workspaceId)) continue;
        if (this.#ownRoom(group, site, workspaceId) <= 0) continue;
        bringBack(group, lane);
        isAny = this.#turns.lineUp(lane) || isAny;
      }
    }
    return isAny;
  }

  /** Lanes that stand aside for a site come back into their lines, as many as it has places, a workspace's after another's. */
  #admit(site: string): void {
    const group = this.#groupOf(site);
    // A blocked site's lanes wait for their time, in the heap.
    const isBlocked = this.#gate.blockedUntil(site, null) !== null;
    let room = isBlocked ? Infinity : this.#gate.jobsOf(site) - group.held;
    // Workspaces passed over since the last that got a place.
    let passed = 0;
    while (room > 0 && passed < group.aside.size) {
      const [workspaceId, lanes] = firstOf(group.aside);
      const [lane] = lanes;
      // Its next turn is the last.
      group.aside.delete(workspaceId);
      group.aside.set(workspaceId, lanes);
      if (lane === undefined) break;
      if (!isBlocked && this.#ownRoom(group, site, workspaceId) <= 0) {
        passed += 1;
        continue;
      }
      passed = 0;
      bringBack(group, lane);
      // One whose workspace is held takes no place.
      if (this.#turns.lineUp(lane)) room -= 1;
    }
    if (group.aside.size === 0) this.#crowded.delete(site);
    if (group.held <= 0 && group.aside.size === 0) this.#groups.delete(site);
  }

  #ownRoom({ heldBy }: Group, site: string, workspaceId: number): number {
    const jobs = this.#gate.ownJobsOf?.(site, workspaceId) ?? Infinity;
    return jobs - (heldBy.get(workspaceId) ?? 0);
  }

  #groupOf(site: string): Group {
    let group = this.#groups.get(site);
    if (group === undefined) {
      group = { held: 0, heldBy: new Map(), aside: new Map() };
      this.#groups.set(site, group);
    }
    return group;
  }
}

function count(group: Group, { workspaceId }: Lane, places: number): void {
  group.held += places;
  const own = (group.heldBy.get(workspaceId) ?? 0) + places;
  if (own > 0) group.heldBy.set(workspaceId, own);
  else group.heldBy.delete(workspaceId);
}

function bringBack(group: Group, lane: Lane): void {
  const own = group.aside.get(lane.workspaceId);
  own?.delete(lane);
  if (own?.size === 0) group.aside.delete(lane.workspaceId);
  lane.isAside = false;
}

function firstOf<K, V>(map: Map<K, V>): [K, V] {
  for (const entry of map) return entry;
  throw new Error("the map is empty");
}
