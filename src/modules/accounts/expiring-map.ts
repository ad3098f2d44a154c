// A map in memory that forgets what is too old, and the oldest when it is full.

import type { Clock } from "../../platform/clock.ts";

interface Entry<Value> {
  value: Value;
  expiresAt: number;
}

export class ExpiringMap<Key, Value> {
  readonly #limit: number;
  readonly #lifetimeMs: number;
  readonly #clock: Pick<Clock, "now">;
  /** The oldest first. */
  readonly #entries = new Map<Key, Entry<Value>>();

  constructor(limit: number, lifetimeMs: number, clock: Pick<Clock, "now">) {
    this.#limit = limit;
    this.#lifetimeMs = lifetimeMs;
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Its time begins anew. */
  set(key: Key, value: Value): void {
    const now = this.#clock.now();
    this.#entries.delete(key);
    for (const [oldest, { expiresAt }] of this.#entries) {
      if (expiresAt > now && this.#entries.size < this.#limit) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, expiresAt: now + this.#lifetimeMs });
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.expiresAt > this.#clock.now() ? entry.value : undefined;
  }

  /** Gives the value once. */
  take(key: Key): Value | undefined {
    const value = this.get(key);
    this.#entries.delete(key);
    return value;
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}
