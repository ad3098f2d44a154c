// Samples how much waits for each site, and since when. It counts on request, by walking the queue's covering index slice by
// slice with turns of the event loop between, so that a million rows stop nobody. Rows move meanwhile, so the figures are
// those of about one moment. (Counters would give the depth for less, but not the age of the oldest row.)

import type { Clock } from "../../../platform/clock.ts";
import type { CensusStore, QueuePlace } from "./depth-store.ts";

/** The emails that wait for one site. */
export interface SiteDepth {
  site: string;
  depth: number;
  /** When the oldest of it was accepted, Unix ms; null when that is not known. */
  oldestAt: number | null;
}

/** A slice takes about a millisecond; of many small lanes, each of which costs as much as ten rows, it takes fewer rows. */
const SLICE_ROWS = 2_000;
const MANY_LANES = 400;
/** Counted again at most this often, and not before so many times what the last count took. */
const FRESH_MS = 10_000;
const REST = 20;
/** Sites shown; the rest is one. Each is a series that Prometheus keeps. */
const MAX_SITES = 50;
/** Sites counted: bounds the work and the memory where every recipient has a domain of its own. */
const MAX_COUNTED = 2_000;
/** Longer than any site's name and any domain. */
const MAX_NAME = 300;

/** The smaller sites together; always there, so that a sum over all sites is too. */
const OTHER = "other";
const UNKNOWN = "unknown";

interface Counted {
  depth: number;
  oldestId: number;
}

export interface CensusOptions {
  store: Pick<CensusStore, "countSlice" | "acceptedAt">;
  /** Where a lane leads; null: not known. */
  siteOf: (laneId: number) => string | null;
  clock: Pick<Clock, "now">;
}

export class QueueDepthSampler {
  readonly #options: CensusOptions;
  #running: Promise<void> | null = null;
  #takenAt: number | null = null;
  #freshMs = FRESH_MS;
  #sites: SiteDepth[] | null = null;
  #isStopped = false;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  /** The last sample, deepest first, `other` at the end; null before the first time. */
  get sites(): SiteDepth[] | null {
    return this.#sites;
  }

  /** Takes a sample unless the last one is fresh; resolves when it is done. Rejects when the database cannot be read. */
  refresh(): Promise<void> {
    const now = this.#options.clock.now();
    // A clock that was set back must not keep old figures fresh.
    const isFresh = this.#takenAt !== null && now >= this.#takenAt && now < this.#takenAt + this.#freshMs;
    if (isFresh || this.#isStopped) return Promise.resolve();
    this.#running ??= this.#take().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Ends a sample that is under way; nothing reads the database afterwards. */
  stop(): void {
    this.#isStopped = true;
  }

  async #take(): Promise<void> {
    const { store, siteOf, clock } = this.#options;
    const startedAt = clock.now();
    const counted = new Map<string, Counted>();
    let rows = SLICE_ROWS;
    for (let place: QueuePlace | null = { laneId: 0, nextAt: 0, id: 0 }; place !== null;) {
      const slice = store.countSlice(place, rows);
      for (const { laneId, depth, oldestId } of slice.lanes) {
        add(counted, siteOf(laneId)?.slice(0, MAX_NAME) ?? UNKNOWN, { depth, oldestId });
      }
      if (counted.size > MAX_COUNTED) keepDeepest(counted, MAX_COUNTED / 2);
      place = slice.end;
      rows = slice.lanes.length >= MANY_LANES ? MANY_LANES : SLICE_ROWS;
      if (place !== null) await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#isStopped) return;
    }
    this.#sites = this.#shown(counted);
    this.#takenAt = clock.now();
    this.#freshMs = Math.max(FRESH_MS, REST * (this.#takenAt - startedAt));
  }

  #shown(counted: Map<string, Counted>): SiteDepth[] {
    keepDeepest(counted, MAX_SITES);
    const rest = counted.get(OTHER) ?? { depth: 0, oldestId: 0 };
    counted.delete(OTHER);
    const all = [...[...counted].toSorted(([, a], [, b]) => b.depth - a.depth), [OTHER, rest] as const];
    return all.map(([site, { depth, oldestId }]) => ({
      site,
      depth,
      oldestAt: depth === 0 ? null : this.#options.store.acceptedAt(oldestId),
    }));
  }
}

function add(counted: Map<string, Counted>, site: string, more: Counted): void {
  const known = counted.get(site);
  if (known === undefined) {
    counted.set(site, { ...more });
    return;
  }
  known.depth += more.depth;
  known.oldestId = Math.min(known.oldestId, more.oldestId);
}

/** Joins all but the `limit` deepest to the rest. */
function keepDeepest(counted: Map<string, Counted>, limit: number): void {
  const others = [...counted]
    .filter(([site]) => site !== OTHER)
    .toSorted(([, a], [, b]) => b.depth - a.depth)
    .slice(limit);
  for (const [site, more] of others) {
    counted.delete(site);
    add(counted, OTHER, more);
  }
}
