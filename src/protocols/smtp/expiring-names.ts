import type { Clock } from "../../platform/clock.ts";
import { putLast } from "../../platform/put-last.ts";

const MAX_NAMES = 10_000;

/** Names that are remembered for a time; when full, the oldest entry is dropped. */
export class ExpiringNames {
  readonly #clock: Pick<Clock, "now">;
  readonly #expiries = new Map<string, number>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  add(name: string, forMs: number): void {
    putLast(this.#expiries, name, this.#clock.now() + forMs, MAX_NAMES);
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
