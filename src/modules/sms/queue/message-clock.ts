// The clock of the SMS queue, which follows corrections of the wall clock without letting time pass.
// Messages wait by the wall clock, which may be put right by an hour. Nothing expires by such a jump, nothing becomes
// due, and nothing waits longer. It is seen against a clock that does not jump, and the stored times are moved with it
// (gateway/sweep.ts); until then this clock goes on as if nothing had happened.

import type { Clock } from "../../../platform/clock.ts";

/** A drift of less is followed as it is. */
const JUMP_MS = 5_000;
/** More, forwards, is no correction: the machine slept. */
export const LONGEST_JUMP_MS = 2 * 3_600_000;

/**
 * A jump of `byMs`; what was accepted after `beforeMs` (of the old time) had the new time already. `seenForMs`: so long ago
 * it was seen first, and messages were accepted in the new time since.
 */
export interface Jump {
  byMs: number;
  beforeMs: number;
  seenForMs: number;
}

export class MessageClock implements Clock {
  readonly #wall: Clock;
  readonly #steady: Pick<Clock, "now">;
  #offset: number;
  /** When the jump that is to be followed was seen first, by the steady clock. */
  #seenAt: number | null = null;

  constructor(wall: Clock, steady: Pick<Clock, "now">) {
    this.#wall = wall;
    this.#steady = steady;
    this.#offset = wall.now() - steady.now();
  }

  now(): number {
    const wall = this.#wall.now();
    const byMs = this.#jumpAt(wall);
    // Nothing becomes due when the clock goes back, and what is accepted now is not to be taken for overdue.
    return byMs > JUMP_MS && byMs <= LONGEST_JUMP_MS ? Math.floor(wall - byMs) : wall;
  }

  after(delayMs: number, run: () => void): () => void {
    return this.#wall.after(delayMs, run);
  }

  /** The jump that is to be followed, or null; it stays one until `follow`. */
  get jump(): Jump | null {
    const wall = this.#wall.now();
    const byMs = this.#jumpAt(wall);
    if (byMs < -JUMP_MS || (byMs > JUMP_MS && byMs <= LONGEST_JUMP_MS)) {
      this.#seenAt ??= this.#steady.now();
      const seenForMs = Math.ceil(this.#steady.now() - this.#seenAt);
      return { byMs: Math.round(byMs), beforeMs: Math.floor(wall - byMs), seenForMs };
    }
    this.#seenAt = null;
    this.#offset += byMs;
    return null;
  }

  /** The stored times have moved with it. */
  follow({ byMs }: Jump): void {
    this.#offset += byMs;
    this.#seenAt = null;
  }

  #jumpAt(wall: number): number {
    return wall - (this.#steady.now() + this.#offset);
  }
}
