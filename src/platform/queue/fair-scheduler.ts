import type { Lane } from "./lane.ts";

// The lanes that are due, in a line for each workspace. The lines take turns, and none holds more places
// than it leaves free, but for the odd one: one alone gets half of them, two a third each, so that whoever
// comes next finds a place, however slow the destinations of the others are.
//
// The operator may hold a workspace's queue. Its line is then set apart as soon as its turn comes, and
// costs the others nothing until release() brings it back.

type Lines = Map<number, Set<Lane>>;

export class FairScheduler {
  readonly #isHeld: (workspaceId: number) => boolean;
  /** Due, by workspace, both in the order of their turns. */
  readonly #lines: Lines = new Map();
  /** Due, and of workspaces whose queue is held. */
  readonly #apart: Lines = new Map();
  /** Places held by each workspace. */
  readonly #held = new Map<number, number>();

  constructor(isHeld: (workspaceId: number) => boolean) {
    this.#isHeld = isHeld;
  }

  /** To the end of its workspace's line. False: that is held, and its lane stands apart now. */
  lineUp(lane: Lane): boolean {
    const isHeld = this.#isHeld(lane.workspaceId);
    addTo(isHeld ? this.#apart : this.#lines, lane);
    return !isHeld;
  }

  has(lane: Lane): boolean {
    return [this.#lines, this.#apart].some((lines) => lines.get(lane.workspaceId)?.has(lane) === true);
  }

  /** The lane is no more. */
  remove(lane: Lane): void {
    for (const lines of [this.#lines, this.#apart]) {
      const line = lines.get(lane.workspaceId);
      if (line?.delete(lane) === true && line.size === 0) lines.delete(lane.workspaceId);
    }
  }

  /** The workspace's queue is held no more. */
  release(workspaceId: number): void {
    const line = this.#apart.get(workspaceId);
    this.#apart.delete(workspaceId);
    for (const lane of line ?? []) addTo(this.#lines, lane);
  }

  /** Whether a lane of the workspace stands in line. */
  isWaiting(workspaceId: number): boolean {
    return (this.#lines.get(workspaceId)?.size ?? 0) > 0;
  }

  get first(): Lane | null {
    for (const line of this.#lines.values()) for (const lane of line) return lane;
    return null;
  }

  /**
   * The lane whose turn it is, and how many of `free` places it takes, which are held then. `roomOf` tells
   * how much may start in a lane that has just left its line; 0: it was put where it waits.
   */
  take(free: number, roomOf: (lane: Lane) => number): { lane: Lane; room: number } | null {
    for (const [workspaceId, line] of this.#lines) {
      const held = this.#held.get(workspaceId) ?? 0;
      // Half of what it may still take, so that what it holds stays below what it leaves.
      const share = Math.ceil((free - held) / 2);
      if (share <= 0) continue;
      if (this.#isHeld(workspaceId)) {
        this.#lines.delete(workspaceId);
        for (const lane of line) addTo(this.#apart, lane);
        continue;
      }
      for (const lane of line) {
        line.delete(lane);
        const room = Math.min(roomOf(lane), share);
        if (room <= 0) continue;
        this.#lines.delete(workspaceId);
        if (line.size > 0) this.#lines.set(workspaceId, line);
        this.#held.set(workspaceId, held + room);
        return { lane, room };
      }
      this.#lines.delete(workspaceId);
    }
    return null;
  }

  giveBack(workspaceId: number, places: number): void {
    const held = (this.#held.get(workspaceId) ?? 0) - places;
    if (held > 0) this.#held.set(workspaceId, held);
    else this.#held.delete(workspaceId);
  }
}

function addTo(lines: Lines, lane: Lane): void {
  const line = lines.get(lane.workspaceId);
  if (line === undefined) lines.set(lane.workspaceId, new Set([lane]));
  else line.add(lane);
}
