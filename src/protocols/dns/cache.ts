/**
 * Answers for as long as they hold. Positive ones live for their TTL and negative ones for the
 * SOA's minimum, both within bounds; failures are never kept, since the next try may succeed.
 *
 * Their memory is bounded, and each answer is held for the owner that asked for it. When they take too
 * much, the oldest of the owner with most goes: nobody's many names wash out the others' few.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Lookup } from "./lookup.ts";

const BYTES_LIMIT = 16 * 1024 * 1024;
/** A TTL of 0 would mean a query per message of a campaign; a few seconds stale hurts nobody. */
const TTL_FLOOR_S = 5;
const POSITIVE_CAP_S = 3600;
/** Short, so that a record which was just published is not denied for long. */
const NEGATIVE_CAP_S = 300;
const SWEEP_EVERY_MS = 60_000;
/** About what an entry and a record of it take beside their text. */
const ENTRY_BYTES = 400;
const RECORD_BYTES = 100;

/** For whom a lookup is made, as the caller numbers them. */
export type Owner = number;

interface Entry {
  lookup: Lookup<unknown>;
  storedAt: number;
  expiresAt: number;
  bytes: number;
  owner: Owner;
}

/** The entries held for one owner, the oldest first. */
interface Held {
  keys: Set<string>;
  bytes: number;
}

export class LookupCache {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #entries = new Map<string, Entry>();
  readonly #held = new Map<Owner, Held>();
  #bytes = 0;
  #sweepAt = 0;

  /** `limit` in bytes, as estimated; 16 MiB unless told. */
  constructor(clock: Clock, limit = BYTES_LIMIT) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A copy with the TTL that is left, or null. The caller knows the record type from the key. */
  find(key: string, owner: Owner): Lookup<unknown> | null {
    const entry = this.#entries.get(key);
    if (!entry) return null;
    const now = this.#clock.now();
    if (isOver(entry, now)) {
      this.#remove(key, entry);
      return null;
    }
    // An answer that several ask for is held for the one who holds least, so that it goes last.
    if (this.#getBytes(owner) < this.#getBytes(entry.owner)) this.#put(key, { ...entry, owner });
    const lookup = copyLookup(entry.lookup);
    if (lookup.kind === "found") lookup.ttlS = Math.floor((entry.expiresAt - now) / 1000);
    return lookup;
  }

  /** `ttlS` as the answer said; the bounds are put on here. */
  store(key: string, lookup: Lookup<unknown>, { ttlS, owner }: { ttlS: number; owner: Owner }): void {
    if (lookup.kind === "failed") return;
    const capS = lookup.kind === "found" ? POSITIVE_CAP_S : NEGATIVE_CAP_S;
    const holdS = Math.max(TTL_FLOOR_S, Math.min(ttlS, capS));
    const storedAt = this.#clock.now();
    this.#sweep(storedAt);
    this.#put(key, { lookup, storedAt, expiresAt: storedAt + holdS * 1000, bytes: estimateBytes(key, lookup), owner });
    while (this.#bytes > this.#limit) this.#removeOne();
  }

  clear(): void {
    this.#entries.clear();
    this.#held.clear();
    this.#bytes = 0;
  }

  #put(key: string, entry: Entry): void {
    const before = this.#entries.get(key);
    // Removed first, so that a renewed entry is a young one.
    if (before !== undefined) this.#remove(key, before);
    this.#entries.set(key, entry);
    const held = this.#held.get(entry.owner) ?? { keys: new Set(), bytes: 0 };
    this.#held.set(entry.owner, held);
    held.keys.add(key);
    held.bytes += entry.bytes;
    this.#bytes += entry.bytes;
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
    const held = this.#held.get(entry.owner);
    if (held === undefined) return;
    held.keys.delete(key);
    held.bytes -= entry.bytes;
    if (held.keys.size === 0) this.#held.delete(entry.owner);
  }

  #removeOne(): void {
    let most: Held | null = null;
    for (const held of this.#held.values()) if (most === null || held.bytes > most.bytes) most = held;
    for (const key of most?.keys ?? []) {
      const entry = this.#entries.get(key);
      if (entry !== undefined) this.#remove(key, entry);
      return;
    }
    throw new Error("a cache without entries weighs something");
  }

  #sweep(now: number): void {
    // A clock that went back makes the next sweep early, not late.
    if (now < this.#sweepAt && now >= this.#sweepAt - SWEEP_EVERY_MS) return;
    this.#sweepAt = now + SWEEP_EVERY_MS;
    for (const [key, entry] of this.#entries) if (isOver(entry, now)) this.#remove(key, entry);
  }

  #getBytes(owner: Owner): number {
    return this.#held.get(owner)?.bytes ?? 0;
  }
}

/** A clock that went back would otherwise keep an entry alive for as long as it jumped. */
function isOver({ expiresAt, storedAt }: Entry, now: number): boolean {
  return now >= expiresAt || now < storedAt;
}

function estimateBytes(key: string, lookup: Lookup<unknown>): number {
  const records = lookup.kind === "found" ? lookup.records : [];
  // Two bytes a character at the most.
  return records.reduce<number>(
    (sum, record) => sum + RECORD_BYTES + 2 * textLength(record),
    ENTRY_BYTES + 2 * key.length,
  );
}

function textLength(record: unknown): number {
  if (typeof record === "string") return record.length;
  return typeof record === "object" && record !== null && "exchange" in record ? String(record.exchange).length : 0;
}

/** Each caller gets a list of its own, so that sorting it disturbs nobody else. */
export function copyLookup(lookup: Lookup<unknown>): Lookup<unknown> {
  return lookup.kind === "found" ? { ...lookup, records: lookup.records.slice() } : { ...lookup };
}
