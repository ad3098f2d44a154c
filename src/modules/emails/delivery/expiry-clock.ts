import type { Clock } from "../../../platform/clock.ts";

/** Less is put right all the time. */
const STEP_MS = 5_000;
/** The operator has this long to correct the clock. */
const DOUBTED_MS = 3_600_000;

/**
 * The wall clock as emails expire by it. A day by which it is set on has not passed for those that wait: for an hour
 * they expire by the time before. Then it is believed: the machine may have slept. It has to be asked now and then, so
 * that a drift is no step.
 */
export class ExpiryClock implements Clock {
  readonly #wall: Clock;
  readonly #steady: Pick<Clock, "now">;
  #offset: number;
  /** By how much it was set on, and when that was seen last by the steady clock. */
  #doubtedMs = 0;
  #doubtedAt = 0;

  constructor(wall: Clock, steady: Pick<Clock, "now">) {
    this.#wall = wall;
    this.#steady = steady;
    this.#offset = wall.now() - steady.now();
  }

  now(): number {
    const [wall, steady] = [this.#wall.now(), this.#steady.now()];
    const stepMs = wall - steady - this.#offset;
    this.#offset += stepMs;
    if (stepMs > STEP_MS) {
      this.#doubtedMs += stepMs;
      this.#doubtedAt = steady;
    } else if (stepMs < -STEP_MS) this.#doubtedMs = Math.max(0, this.#doubtedMs + stepMs);
    if (steady - this.#doubtedAt > DOUBTED_MS) this.#doubtedMs = 0;
    return Math.floor(wall - this.#doubtedMs);
  }

  after(delayMs: number, run: () => void): () => void {
    return this.#wall.after(delayMs, run);
  }
}
