/**
 * Magic recipients: local parts that make the sandbox's MX misbehave on purpose, whatever the
 * domain, so that a customer can watch a bounce, a complaint, a retry and a slow receiver without
 * waiting for a real one.
 */

import type { Clock } from "../../platform/clock.ts";

/** Local parts that behave on purpose; the page tells what each does. */
export const MAGIC_NAMES = ["bounce", "bounce-later", "complaint", "defer", "slow"] as const;

/** What the MX does with a recipient. */
export type Behaviour = "accept" | (typeof MAGIC_NAMES)[number];

/** Tries of one message that `defer@` turns away before it takes it. */
const DEFERRED_TRIES = 2;
/** How long after the dot `slow@` is answered. */
const SLOW_ANSWER_MS = 5_000;
/** Return path and recipient pairs that are remembered at most; the oldest are forgotten. */
export const MAX_REMEMBERED_PAIRS = 10_000;

/** Reads the behaviour from an address: one of the names before the @, with or without a `+tag`. */
export function behaviourOf(address: string): Behaviour {
  const localPart = address.slice(0, Math.max(address.lastIndexOf("@"), 0)).toLowerCase();
  const name = localPart.split("+", 1)[0];
  return MAGIC_NAMES.find((each) => each === name) ?? "accept";
}

/** Remembers the tries of each (return path, recipient) pair, as a greylisting receiver does. */
export class Greylist {
  readonly #tries = new Map<string, number>();

  /** Counts a try; true when it is one of the first `DEFERRED_TRIES` and has to come back. */
  mustComeBack(returnPath: string, recipient: string): boolean {
    // A space cannot stand in an address without quotes, so two pairs never share a key.
    const key = `${returnPath} ${recipient.toLowerCase()}`;
    const tries = (this.#tries.get(key) ?? 0) + 1;
    if (tries > DEFERRED_TRIES + 1) return false;
    this.#tries.delete(key);
    this.#tries.set(key, tries);
    if (this.#tries.size > MAX_REMEMBERED_PAIRS) {
      const oldest = this.#tries.keys().next();
      if (!oldest.done) this.#tries.delete(oldest.value);
    }
    return tries <= DEFERRED_TRIES;
  }
}

/** Answers that wait on purpose; flushed at close so that no sender is left without one. */
export class SlowAnswers {
  readonly #clock: Clock;
  readonly #waiting = new Map<() => void, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(answer: () => void): void {
    const cancel = this.#clock.after(SLOW_ANSWER_MS, () => {
      this.#waiting.delete(answer);
      answer();
    });
    this.#waiting.set(answer, cancel);
  }

  flush(): void {
    for (const [answer, cancel] of this.#waiting) {
      cancel();
      answer();
    }
    this.#waiting.clear();
  }
}
