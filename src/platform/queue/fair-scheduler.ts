// Fair turns between workspaces, whatever they have waiting: lanes of a queue, or SMS for a route.

/** What waits for its turn. */
export interface Schedulable {
  readonly workspaceId: number;
}

/**
 * How many places a workspace may take at its turn.
 * - `half`: half of what is left, so that no workspace holds more places than it leaves free: one workspace gets half
 *   of all, two get a third each. For places that are held long: the next to come finds one, however slow the
 *   destinations of the others are.
 * - `equal`: an equal part of the places that are free or held by workspaces that wait, and at least one; none stays
 *   free. For places that are given back at once, as those of one claim.
 */
export type FairShare = "half" | "equal";

/** Items of a workspace by their order, and the workspaces by the order of their turns. */
type Lines<T> = Map<number, Set<T>>;

/**
 * The items that are due, in a line for each workspace; the lines take turns. The operator may hold a workspace: its
 * line is set apart when its turn comes, and costs the others nothing until release() brings it back.
 *
 * Usage: lineUp() what is due; take() until it returns null, which takes an item out of its line and holds places for
 * its workspace; giveBack() each place once it is free; lineUp() the item again when more of it is due.
 */
export class FairScheduler<T extends Schedulable> {
  readonly #isHeld: (workspaceId: number) => boolean;
  readonly #share: FairShare;
  readonly #waiting: Lines<T> = new Map();
  /** Items of workspaces that are held. */
  readonly #apart: Lines<T> = new Map();
  /** Places held by each workspace. */
  readonly #places = new Map<number, number>();

  constructor(isHeld: (workspaceId: number) => boolean, share: FairShare) {
    this.#isHeld = isHeld;
    this.#share = share;
  }

  /** To the end of its workspace's line. False: the workspace is held, and the item is set apart. */
  enqueue(item: T): boolean {
    const isHeld = this.#isHeld(item.workspaceId);
    add(isHeld ? this.#apart : this.#waiting, item);
    return !isHeld;
  }

  has(item: T): boolean {
    return [this.#waiting, this.#apart].some((lines) => lines.get(item.workspaceId)?.has(item) === true);
  }

  remove(item: T): void {
    for (const lines of [this.#waiting, this.#apart]) {
      const line = lines.get(item.workspaceId);
      if (line?.delete(item) === true && line.size === 0) lines.delete(item.workspaceId);
    }
  }

  /** The workspace is not held any more. */
  release(workspaceId: number): void {
    const line = this.#apart.get(workspaceId);
    this.#apart.delete(workspaceId);
    for (const item of line ?? []) add(this.#waiting, item);
  }

  /** Whether an item of the workspace stands in line. */
  isWaiting(workspaceId: number): boolean {
    return this.#waiting.has(workspaceId);
  }

  get first(): T | null {
    for (const line of this.#waiting.values()) for (const item of line) return item;
    return null;
  }

  /**
   * The item whose turn it is, and how many of `free` places it takes, which are held from now on. `getRoom` tells how
   * many it can use, after it was taken out of its line; 0: none now, and where it waits is the caller's concern.
   */
  take(free: number, getRoom: (item: T) => number): { item: T; room: number } | null {
    for (const [workspaceId, line] of this.#waiting) {
      const share = this.#getShare(workspaceId, free);
      if (share <= 0) continue;
      if (this.#isHeld(workspaceId)) {
        this.#waiting.delete(workspaceId);
        for (const item of line) add(this.#apart, item);
        continue;
      }
      for (const item of line) {
        line.delete(item);
        const room = Math.min(getRoom(item), share);
        if (room <= 0) continue;
        this.#waiting.delete(workspaceId);
        if (line.size > 0) this.#waiting.set(workspaceId, line);
        this.#hold(workspaceId, room);
        return { item, room };
      }
      this.#waiting.delete(workspaceId);
    }
    return null;
  }

  releasePlaces(workspaceId: number, places: number): void {
    this.#hold(workspaceId, -places);
  }

  #getShare(workspaceId: number, free: number): number {
    const held = this.#places.get(workspaceId) ?? 0;
    if (this.#share === "half") return Math.ceil((free - held) / 2);
    let all = free;
    for (const [id, places] of this.#places) if (this.#waiting.has(id)) all += places;
    return Math.min(free, Math.max(1, Math.floor(all / this.#waiting.size) - held));
  }

  #hold(workspaceId: number, places: number): void {
    const held = (this.#places.get(workspaceId) ?? 0) + places;
    if (held > 0) this.#places.set(workspaceId, held);
    else this.#places.delete(workspaceId);
  }
}

function add<T extends Schedulable>(lines: Lines<T>, item: T): void {
  const line = lines.get(item.workspaceId);
  if (line === undefined) lines.set(item.workspaceId, new Set([item]));
  else line.add(item);
}
