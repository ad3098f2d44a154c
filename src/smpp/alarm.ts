import type { Clock } from "../clock.ts";

/**
 * One timer for whatever is due first. It is moved forward only: one that rings too early is looked at, and
 * set again, which costs less than moving it with every PDU.
 */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #at = Infinity;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings at `at` (the clock's ms) or before; Infinity asks for nothing. */
  setFor(at: number): void {
    if (at >= this.#at) return;
    this.#cancel?.();
    this.#at = at;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#at = Infinity;
      this.#cancel = null;
      this.#ring();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#at = Infinity;
  }
}
