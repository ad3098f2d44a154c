// Limits of sites. A site is what several lanes may lead to and what bears only so much: the mail hosts behind a domain,
// a pool of slow receivers. A lane whose site is full stands aside until a job for that site ends.

import type { FairScheduler } from "./fair-scheduler.ts";
import type { Lane } from "./lane.ts";

/** The limits; sites are named as the handler names them in `locate`. */
export interface SiteLimits {
  /** Jobs that may run for it at once, at least 1. */
  getMaxJobs(site: string): number;
  /** The same for the jobs of one workspace; absent: no limit of its own. */
  getMaxOwnJobs?(site: string, workspaceId: number): number;
  /** Unix ms: nothing of a workspace (null: of all) starts before; null, or absent: it may start. */
  getBlockEnd?(site: string, workspaceId: number | null): number | null;
  /** Jobs that a lane may run whose site is not known yet, while `held` places are taken in all; absent: 1. */
  getMaxUnlocatedJobs?(held: number): number;
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
  readonly #limits: SiteLimits;
  readonly #scheduler: FairScheduler<Lane>;
  readonly #groups = new Map<string, Group>();
  /** Sites for which lanes stand aside. */
  readonly #crowded = new Set<string>();

  constructor(limits: SiteLimits, scheduler: FairScheduler<Lane>) {
    this.#limits = limits;
    this.#scheduler = scheduler;
  }

  /** Places that the lane's site has left; 0: the lane stands aside now. */
  getRoom(lane: Lane, site: string): number {
    const group = this.#getGroup(site);
    const room = Math.min(this.#limits.getMaxJobs(site) - group.held, this.#getOwnRoom(group, site, lane.workspaceId));
    if (room > 0) return room;
    lane.isAside = true;
    const own = group.aside.get(lane.workspaceId);
    if (own === undefined) group.aside.set(lane.workspaceId, new Set([lane]));
    else own.add(lane);
    this.#crowded.add(site);
    return 0;
  }

  hold(lane: Lane, site: string, places: number): void {
    count(this.#getGroup(site), lane, places);
  }

  giveBack(lane: Lane, site: string, places: number): void {
    count(this.#getGroup(site), lane, -places);
    this.#admit(site);
  }

  /** The lane leads elsewhere from now on. */
  leave(lane: Lane, site: string): void {
    const group = this.#getGroup(site);
    count(group, lane, -lane.held);
    if (lane.isAside) bringBack(group, lane);
    this.#admit(site);
  }

  /** At sites with free places, admits a lane of each workspace that has none in its line. True: there was one. */
  admitOthers(): boolean {
    let isAny = false;
    for (const site of this.#crowded) {
      const group = this.#getGroup(site);
      if (this.#limits.getMaxJobs(site) <= group.held) continue;
      for (const [workspaceId, [lane]] of group.aside) {
        if (lane === undefined || this.#scheduler.isWaiting(workspaceId)) continue;
        if (this.#getOwnRoom(group, site, workspaceId) <= 0) continue;
        bringBack(group, lane);
        isAny = this.#scheduler.enqueue(lane) || isAny;
      }
    }
    return isAny;
  }

  /** Lanes that stand aside for a site come back into their lines, as many as it has places, workspace after workspace. */
  #admit(site: string): void {
    const group = this.#getGroup(site);
    // A blocked site's lanes wait for their time, in the heap.
    const isBlocked = (this.#limits.getBlockEnd?.(site, null) ?? null) !== null;
    let room = isBlocked ? Infinity : this.#limits.getMaxJobs(site) - group.held;
    // Workspaces passed over since the last that got a place.
    let passed = 0;
    while (room > 0 && passed < group.aside.size) {
      const [workspaceId, lanes] = getFirst(group.aside);
      const [lane] = lanes;
      // Its next turn is the last.
      group.aside.delete(workspaceId);
      group.aside.set(workspaceId, lanes);
      if (lane === undefined) break;
      if (!isBlocked && this.#getOwnRoom(group, site, workspaceId) <= 0) {
        passed += 1;
        continue;
      }
      passed = 0;
      bringBack(group, lane);
      // A lane of a held workspace takes no place.
      if (this.#scheduler.enqueue(lane)) room -= 1;
    }
    if (group.aside.size === 0) this.#crowded.delete(site);
    if (group.held <= 0 && group.aside.size === 0) this.#groups.delete(site);
  }

  #getOwnRoom({ heldBy }: Group, site: string, workspaceId: number): number {
    const jobs = this.#limits.getMaxOwnJobs?.(site, workspaceId) ?? Infinity;
    return jobs - (heldBy.get(workspaceId) ?? 0);
  }

  #getGroup(site: string): Group {
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

function getFirst<K, V>(map: Map<K, V>): [K, V] {
  for (const entry of map) return entry;
  throw new Error("the map is empty");
}
