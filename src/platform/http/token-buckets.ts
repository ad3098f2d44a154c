// Token buckets by the generic cell rate algorithm. Pure: time is an argument.

// A bucket is one number, the time at which it would be full again: a request moves that on by the time that one token
// takes to come. A full bucket is not kept, so that only recent keys take memory.

export interface BucketRate {
  /** As clients see it: "sends". */
  name: string;
  /** Tokens (> 0) that come in `perMs`. */
  rate: number;
  perMs: number;
  /** Tokens (≥ 1) of a full bucket. */
  burst: number;
}

/** Buckets that are not full, of all keys; a further one replaces the oldest. */
const MAX_REMEMBERED = 100_000;
/** Full buckets are looked for no more often. */
const MIN_SWEEP_MS = 1_000;
/** The part of a token that sums of fractions may be off by. */
const ROUNDING = 1e-6;

export class TokenBuckets<Key> {
  /** The field RateLimit-Policy: `"sends";q=200;w=2`. */
  readonly policy: string;
  readonly #name: string;
  readonly #burst: number;
  readonly #tokenMs: number;
  readonly #fullMs: number;
  readonly #roundingMs: number;
  readonly #maxRemembered: number;
  /** When each bucket is full again, in the time of #since(). */
  readonly #fullAt = new Map<Key, number>();
  #origin: number | null = null;
  #latest = 0;
  #sweptAt = 0;

  constructor({ name, rate, perMs, burst }: BucketRate, maxRemembered = MAX_REMEMBERED) {
    this.#name = name;
    this.#burst = burst;
    this.#tokenMs = perMs / rate;
    this.#fullMs = burst * this.#tokenMs;
    this.#roundingMs = this.#tokenMs * ROUNDING;
    this.#maxRemembered = maxRemembered;
    this.policy = `"${name}";q=${burst};w=${Math.max(1, Math.ceil(this.#fullMs / 1_000))}`;
  }

  /** Takes a token of `key` and answers 0; without one, in how many milliseconds there is one, and takes nothing. */
  take(key: Key, now: number): number {
    const at = this.#since(now);
    this.#sweep(at);
    const fullAt = this.#getFullAt(key, at) + this.#tokenMs;
    const waitMs = fullAt - at - this.#fullMs;
    if (waitMs > this.#roundingMs) return waitMs;
    if (this.#fullAt.size >= this.#maxRemembered && !this.#fullAt.has(key)) {
      for (const oldest of this.#fullAt.keys().take(1)) this.#fullAt.delete(oldest);
    }
    this.#fullAt.set(key, fullAt);
    return 0;
  }

  /** A token that was taken for nothing. */
  giveBack(key: Key, now: number): void {
    const at = this.#since(now);
    const fullAt = this.#getFullAt(key, at) - this.#tokenMs;
    if (fullAt > at) this.#fullAt.set(key, fullAt);
    else this.#fullAt.delete(key);
  }

  /** The field RateLimit: `"sends";r=199;t=1`: what is left, and in how many seconds there is more. */
  left(key: Key, now: number): string {
    const at = this.#since(now);
    const missingMs = this.#getFullAt(key, at) - at;
    const missing = missingMs / this.#tokenMs;
    const left = Math.max(0, Math.floor(this.#burst - missing + ROUNDING));
    // Until one whole token more is there than now.
    const moreMs = missingMs - (this.#burst - left - 1) * this.#tokenMs;
    return `"${this.#name}";r=${left};t=${missing <= 0 ? 0 : this.wholeSeconds(moreMs)}`;
  }

  /** A wait of take() as whole seconds, at least one: after them there is a token. */
  wholeSeconds(waitMs: number): number {
    return Math.max(1, Math.ceil((waitMs - this.#roundingMs) / 1_000));
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /**
   * Milliseconds since the first call, a number small enough to hold fractions. While the clock is put back no
   * time goes by, so that nobody waits for the hour to come again.
   */
  #since(now: number): number {
    this.#origin ??= now;
    if (now - this.#origin < this.#latest) this.#origin = now - this.#latest;
    this.#latest = now - this.#origin;
    return this.#latest;
  }

  #getFullAt(key: Key, at: number): number {
    const fullAt = this.#fullAt.get(key);
    return fullAt === undefined || fullAt < at ? at : fullAt;
  }

  #sweep(at: number): void {
    if (at - this.#sweptAt < Math.max(this.#fullMs, MIN_SWEEP_MS)) return;
    this.#sweptAt = at;
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= at) this.#fullAt.delete(key);
  }
}
