/**
 * How often things happened in the last minutes: counted by name and by minute, so that old counts can be
 * forgotten. Pure: the time comes with each count.
 */

const MINUTE_MS = 60_000;
/** This minute included. */
export const MINUTES = 5;

export class MinuteCounts<Name extends string> {
  readonly #minutes = Array.from({ length: MINUTES }, () => ({ number: -1, counts: new Map<Name, number>() }));

  /** `now`: Unix ms. */
  add(name: Name, amount: number, now: number): void {
    const number = Math.floor(now / MINUTE_MS);
    const minute = this.#minutes[((number % MINUTES) + MINUTES) % MINUTES];
    if (minute === undefined) return;
    // The clock may be set back: then the minute's place is simply taken over.
    if (minute.number !== number) {
      minute.number = number;
      minute.counts.clear();
    }
    minute.counts.set(name, (minute.counts.get(name) ?? 0) + amount);
  }

  sum(name: Name, now: number): number {
    const current = Math.floor(now / MINUTE_MS);
    return this.#minutes
      .filter(({ number }) => number <= current && number > current - MINUTES)
      .reduce((total, { counts }) => total + (counts.get(name) ?? 0), 0);
  }
}
