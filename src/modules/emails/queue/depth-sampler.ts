// Samples how much waits for each site, and since when; emails scheduled for a time ahead are counted apart. It counts on
// request. (Counters would give the depth for less, but not the age of the oldest row.)

import type { Clock } from "../../../platform/clock.ts";
import { earlier } from "../../../platform/queue/queue-admin.ts";
import { countLanes, type EmailAdminStore } from "./admin-store.ts";

export interface SiteDepth {
  site: string;
  depth: number;
  /** When the oldest of it was accepted, or was to be sent, Unix ms; null when that is not known. */
  oldestAt: number | null;
}

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
  oldestId: number | null;
  oldestSendAt: number | null;
}

const NONE: Counted = { depth: 0, oldestId: null, oldestSendAt: null };

export interface QueueDepthOptions {
  store: Pick<EmailAdminStore, "countSlice" | "lane" | "findOldestAt">;
  /** Where a lane leads; null: not known, then its recipient domain stands for it. */
  findSite: (laneId: number) => string | null;
  clock: Pick<Clock, "now">;
}

export class QueueDepthSampler {
  readonly #options: QueueDepthOptions;
  #running: Promise<void> | null = null;
  #takenAt: number | null = null;
  #freshMs = FRESH_MS;
  #sites: SiteDepth[] | null = null;
  #scheduled: number | null = null;
  #isStopped = false;

  constructor(options: QueueDepthOptions) {
    this.#options = options;
  }

  /** The last sample, deepest first, `other` at the end; null before the first time. */
  get sites(): SiteDepth[] | null {
    return this.#sites;
  }

  /** Emails scheduled for a time ahead; null before the first time. */
  get scheduled(): number | null {
    return this.#scheduled;
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
    const { store, findSite, clock } = this.#options;
    const startedAt = clock.now();
    const counted = new Map<string, Counted>();
    let allScheduled = 0;
    for await (const slice of countLanes(store, { now: startedAt })) {
      if (this.#isStopped) return;
      for (const { laneId, scheduled, ...waiting } of slice) {
        allScheduled += scheduled;
        if (waiting.depth === 0) continue;
        const site = findSite(laneId) ?? store.lane(laneId)?.destination;
        add(counted, site?.slice(0, MAX_NAME) ?? UNKNOWN, waiting);
      }
      if (counted.size > MAX_COUNTED) keepDeepest(counted, MAX_COUNTED / 2);
    }
    this.#sites = this.#shown(counted);
    this.#scheduled = allScheduled;
    this.#takenAt = clock.now();
    this.#freshMs = Math.max(FRESH_MS, REST * (this.#takenAt - startedAt));
  }

  #shown(counted: Map<string, Counted>): SiteDepth[] {
    keepDeepest(counted, MAX_SITES);
    const rest = counted.get(OTHER) ?? NONE;
    counted.delete(OTHER);
    const all = [...[...counted].toSorted(([, a], [, b]) => b.depth - a.depth), [OTHER, rest] as const];
    return all.map(([site, { depth, ...oldest }]) => ({
      site,
      depth,
      oldestAt: this.#options.store.findOldestAt(oldest),
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
  known.oldestId = earlier(known.oldestId, more.oldestId);
  known.oldestSendAt = earlier(known.oldestSendAt, more.oldestSendAt);
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
