import type { Clock } from "../../../src/platform/clock.ts";

export interface ManualClock extends Clock {
  /** Moves time and runs what has become due, in order. */
  advance(ms: number): void;
  set(at: number): void;
  /** How many timers wait. */
  readonly waiting: number;
}

export function createManualClock(startAt = 1_700_000_000_000): ManualClock {
  let at = startAt;
  let timers: { dueAt: number; run: () => void }[] = [];
  return {
    now: () => at,
    after(delayMs, run) {
      const timer = { dueAt: at + delayMs, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(ms) {
      at += ms;
      const due = timers.filter((timer) => timer.dueAt <= at).toSorted((a, b) => a.dueAt - b.dueAt);
      timers = timers.filter((timer) => timer.dueAt > at);
      for (const timer of due) timer.run();
    },
    set(newAt) {
      at = newAt;
    },
    get waiting() {
      return timers.length;
    },
  };
}
