// One timer for whatever is due first in a session.

import type { Clock } from "../../../platform/clock.ts";

/** If it fires this late, the whole process stood still; what has come meanwhile is read before a peer is called silent. */
const STOOD_STILL_MS = 1_000;
const READ_FIRST_MS = 100;

/**
 * One timer for whatever is due first. It is moved forward only: one that rings too early is looked at, and
 * set again, which costs less than moving it with every PDU.
 */
export class DeadlineTimer {
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
    this.#set(at);
  }

  #set(at: number): void {
    this.#cancel?.();
    this.#at = at;
    this.#cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      const now = this.#clock.now();
      if (now - at > STOOD_STILL_MS) return this.#set(now + READ_FIRST_MS);
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
