/**
 * Answers for as long as they hold. Positive ones live for their TTL and negative ones for the
 * SOA's minimum, both within bounds; failures are never kept, since the next try may succeed.
 */
import type { Clock } from "../clock.ts";
import type { Lookup } from "./lookup.ts";

const ENTRIES_LIMIT = 10_000;
/** A TTL of 0 would mean a query per message of a campaign; a few seconds stale hurts nobody. */
const TTL_FLOOR_S = 5;
const POSITIVE_CAP_S = 3600;
/** Short, so that a record which was just published is not denied for long. */
const NEGATIVE_CAP_S = 300;

interface Entry {
  lookup: Lookup<unknown>;
  storedAt: number;
  expiresAt: number;
}

/** Bounded: past `limit` entries (10,000 unless told) the oldest goes. */
export class LookupCache {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, limit = ENTRIES_LIMIT) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** A copy with the TTL that is left, or null. The caller knows the record type from the key. */
  find(key: string): Lookup<unknown> | null {
    const entry = this.#entries.get(key);
    if (!entry) return null;
    const now = this.#clock.now();
    // A clock that went back would otherwise keep an entry alive for as long as it jumped.
    if (now >= entry.expiresAt || now < entry.storedAt) {
      this.#entries.delete(key);
      return null;
    }
    const lookup = copyLookup(entry.lookup);
    if (lookup.kind === "found") lookup.ttlS = Math.floor((entry.expiresAt - now) / 1000);
    return lookup;
  }

  /** `ttlS` as the answer said; the bounds are put on here. */
  store(key: string, lookup: Lookup<unknown>, ttlS: number): void {
    if (lookup.kind === "failed") return;
    const capS = lookup.kind === "found" ? POSITIVE_CAP_S : NEGATIVE_CAP_S;
    const holdS = Math.max(TTL_FLOOR_S, Math.min(ttlS, capS));
    const storedAt = this.#clock.now();
    // Deleted first, so that a renewed entry moves to the young end of the map.
    this.#entries.delete(key);
    this.#entries.set(key, { lookup, storedAt, expiresAt: storedAt + holdS * 1000 });
    if (this.#entries.size <= this.#limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  clear(): void {
    this.#entries.clear();
  }
}

/** Each caller gets a list of its own, so that sorting it disturbs nobody else. */
export function copyLookup(lookup: Lookup<unknown>): Lookup<unknown> {
  return lookup.kind === "found" ? { ...lookup, records: lookup.records.slice() } : { ...lookup };
}
