// One timer for the next thing that is due.

import type { Clock } from "../clock.ts";

/** Longer waits are taken in steps: setTimeout counts to 2^31 ms, and the clock may be set meanwhile. */
const MAX_TIMER_MS = 60_000;

/** Calls when something is due, or earlier when that is far ahead. */
export class DueTimer {
  readonly #clock: Clock;
  readonly #run: () => void;
  #cancel: (() => void) | null = null;
  #dueAt: number | null = null;

  constructor(clock: Clock, run: () => void) {
    this.#clock = clock;
    this.#run = run;
  }

  set(dueAt: number | null): void {
    if (dueAt === this.#dueAt && dueAt !== null) return;
    this.#cancel?.();
    this.#cancel = null;
    this.#dueAt = dueAt;
    if (dueAt === null) return;
    const delayMs = Math.min(Math.max(0, dueAt - this.#clock.now()), MAX_TIMER_MS);
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#dueAt = null;
      this.#run();
    });
  }
}
