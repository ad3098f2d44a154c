// Waits at a stop until clients have left, or their time is over.

import type { Clock } from "../../../platform/clock.ts";

export class WaitUntil {
  readonly #clock: Pick<Clock, "after">;
  #look: (() => void) | null = null;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Resolves when `isDone` holds, looked at at each changed(), or after `limitMs`. */
  async wait(limitMs: number, isDone: () => boolean): Promise<void> {
    if (isDone()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(limitMs, resolve);
    this.#look = () => {
      if (isDone()) resolve();
    };
    await promise;
    this.#look = null;
    cancel();
  }

  changed(): void {
    this.#look?.();
  }
}
