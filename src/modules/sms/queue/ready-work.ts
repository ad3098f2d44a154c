// Which work waits for the links, by route, priority and workspace, with the time its first segment is due. Pure.
// A priority goes before the ones below it, until those have waited for a while; within one the workspaces take turns.
// It is a hint: the database decides what is claimed.

import type { Priority, ReadyWork } from "./segment-read-store.ts";

/** How much later work of a priority counts as due, where another one is due as well. */
const HANDICAP_MS: Record<Priority, number> = { otp: 0, transactional: 10_000, bulk: 120_000 };

export interface Waiting extends ReadyWork {
  /** Changes with each nudge and never repeats: a claim that began before is stale. */
  version: number;
  /** Links that had nothing to claim of what is due, until when (ms). */
  barred: Map<string, number>;
}

export class ReadyQueue {
  /** By route, then by priority and workspace. */
  readonly #routes = new Map<string, Map<string, Waiting>>();
  readonly #isHeld: (workspaceId: number) => boolean;
  #versions = 0;

  /** `isHeld`: whether nothing of a workspace may start for now. Its work stays where it is. */
  constructor(isHeld: (workspaceId: number) => boolean = () => false) {
    this.#isHeld = isHeld;
  }

  /** There is work that is due at `nextAt`, maybe beside other. */
  note(work: ReadyWork): void {
    const { route } = work;
    const works = this.#routes.get(route) ?? new Map<string, Waiting>();
    this.#routes.set(route, works);
    const key = toKey(work);
    const known = works.get(key);
    this.#versions += 1;
    if (known === undefined) works.set(key, { ...work, version: this.#versions, barred: new Map() });
    else {
      known.version = this.#versions;
      known.barred.clear();
      known.nextAt = Math.min(known.nextAt, work.nextAt);
    }
  }

  /** After a claim: what the database said of it when it was at `version`. It goes to the end of the line. */
  correct(work: Waiting, version: number, nextAt: number | null): void {
    const works = this.#routes.get(work.route);
    const known = works?.get(toKey(work));
    if (works === undefined || known === undefined) return;
    if (known.version !== version) {
      if (nextAt !== null) known.nextAt = Math.min(known.nextAt, nextAt);
      return;
    }
    works.delete(toKey(work));
    if (nextAt !== null) works.set(toKey(work), { ...known, nextAt });
  }

  /** What is due of it belongs to other links than this one. */
  bar(work: ReadyWork, link: string, until: number): void {
    this.#routes.get(work.route)?.get(toKey(work))?.barred.set(link, until);
  }

  /** What is due on a route for a link, by priority: the one to be served first comes first, each with its workspaces in turn. */
  due(route: string, link: string, now: number): Waiting[][] {
    const byPriority = new Map<Priority, { urgency: number; works: Waiting[] }>();
    for (const work of this.#routes.get(route)?.values() ?? []) {
      if (work.nextAt > now || (work.barred.get(link) ?? 0) > now || this.#isHeld(work.workspaceId)) continue;
      const urgency = work.nextAt + HANDICAP_MS[work.priority];
      const line = byPriority.get(work.priority);
      if (line === undefined) byPriority.set(work.priority, { urgency, works: [work] });
      else {
        line.urgency = Math.min(line.urgency, urgency);
        line.works.push(work);
      }
    }
    return [...byPriority.values()].toSorted((a, b) => a.urgency - b.urgency).map(({ works }) => works);
  }

  /** When the first of a route is due; Infinity: none waits. */
  nextAt(route: string): number {
    let first = Infinity;
    for (const { nextAt, workspaceId } of this.#routes.get(route)?.values() ?? [])
      if (nextAt < first && !this.#isHeld(workspaceId)) first = nextAt;
    return first;
  }
}

function toKey({ priority, workspaceId }: Pick<ReadyWork, "priority" | "workspaceId">): string {
  return `${priority} ${workspaceId}`;
}
