import type { Clock } from "../../platform/clock.ts";

const MAX_NAMES = 10_000;

/** Names that are remembered for a time; of too many the one that was added longest ago goes. */
export class ExpiringNames {
  readonly #clock: Pick<Clock, "now">;
  readonly #expiries = new Map<string, number>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  add(name: string, forMs: number): void {
    this.#expiries.delete(name);
    this.#expiries.set(name, this.#clock.now() + forMs);
    // A Map keeps the order of insertion: the first is the oldest.
    const oldest = this.#expiries.keys().next();
    if (this.#expiries.size > MAX_NAMES && oldest.done === false) this.#expiries.delete(oldest.value);
  }

  delete(name: string): void {
    this.#expiries.delete(name);
  }

  has(name: string): boolean {
    const expiresAt = this.#expiries.get(name);
    if (expiresAt === undefined) return false;
    if (expiresAt > this.#clock.now()) return true;
    this.#expiries.delete(name);
    return false;
  }
}
