/**
 * How values of the last minutes were spread: p99 and maximum without keeping the values. They are
 * counted by size, in buckets that each reach 10 % further than the one before, and by minute, so that
 * old ones can be forgotten. Pure: the time comes with each value.
 */

const MINUTE_MS = 60_000;
const MINUTES = 5;
const SMALLEST = 1e-6;
const GROWTH = 1.1;
const LOG_GROWTH = Math.log(GROWTH);
/** Up to 100 s; what is longer counts as that. */
const BUCKETS = 194;

interface Minute {
  /** Of the clock: minutes since 1970. */
  number: number;
  counts: Uint32Array;
  count: number;
  max: number;
}

/** Values (seconds) of the last five minutes, this one included. */
export class Recent {
  readonly #minutes: Minute[] = Array.from({ length: MINUTES }, () => ({
    number: -1,
    counts: new Uint32Array(BUCKETS),
    count: 0,
    max: 0,
  }));

  /** `now`: Unix ms. */
  observe(value: number, now: number): void {
    const minute = this.#minuteAt(Math.floor(now / MINUTE_MS));
    const bucket = bucketOf(value);
    minute.counts[bucket] = (minute.counts[bucket] ?? 0) + 1;
    minute.count += 1;
    if (value > minute.max) minute.max = value;
  }

  /** The value that `share` (0 to 1) of the values do not exceed, up to 10 % too high; NaN when there was none. */
  quantile(share: number, now: number): number {
    const minutes = this.#lastMinutes(now);
    const total = minutes.reduce((sum, minute) => sum + minute.count, 0);
    if (total === 0) return Number.NaN;
    const rank = Math.max(1, Math.ceil(share * total));
    let below = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      for (const minute of minutes) below += minute.counts[bucket] ?? 0;
      if (below >= rank) return Math.min(SMALLEST * GROWTH ** (bucket + 1), this.max(now));
    }
    return this.max(now);
  }

  /** NaN when there was none. */
  max(now: number): number {
    const minutes = this.#lastMinutes(now);
    return minutes.length === 0 ? Number.NaN : Math.max(...minutes.map((minute) => minute.max));
  }

  #minuteAt(number: number): Minute {
    // The clock may be set back: then the minute's place is simply taken over.
    const minute = this.#minutes[((number % MINUTES) + MINUTES) % MINUTES] as Minute;
    if (minute.number !== number) {
      minute.number = number;
      minute.counts.fill(0);
      minute.count = 0;
      minute.max = 0;
    }
    return minute;
  }

  #lastMinutes(now: number): Minute[] {
    const current = Math.floor(now / MINUTE_MS);
    return this.#minutes.filter(({ number, count }) => count > 0 && number <= current && number > current - MINUTES);
  }
}

function bucketOf(value: number): number {
  if (!(value > SMALLEST)) return 0;
  return Math.min(BUCKETS - 1, Math.floor(Math.log(value / SMALLEST) / LOG_GROWTH));
}
