import type { Clock } from "../../../src/platform/clock.ts";

/** A clock that stands still until it is moved. */
export interface FakeClock extends Clock {
  /** Moves the time on by `ms`, running the timers that fall due in their order, each at its own time; timers they set run too if due. */
  advance(ms: number): void;
  /** Sets the time, and runs nothing: timers wait as long as they had left, as on a steady clock. */
  set(ms: number): void;
  /** Timers set and neither run nor cancelled. */
  readonly pending: number;
}

/** A clock at `startMs` (Unix ms). */
export function fakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  let now = startMs;
  const timers = new Set<{ at: number; run: () => void }>();
  const firstDue = (until: number) => {
    let first: { at: number; run: () => void } | undefined;
    for (const timer of timers) if (timer.at <= until && (first === undefined || timer.at < first.at)) first = timer;
    return first;
  };
  return {
    now: () => now,
    after(delayMs, run) {
      const timer = { at: now + delayMs, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      const until = now + ms;
      for (let timer = firstDue(until); timer !== undefined; timer = firstDue(until)) {
        timers.delete(timer);
        now = Math.max(now, timer.at);
        timer.run();
      }
      now = until;
    },
    set(ms) {
      for (const timer of timers) timer.at += ms - now;
      now = ms;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** The same time as performance.now() has it: with fractions of milliseconds, which no INTEGER column takes. */
export function withFractions(clock: Clock): Clock {
  let calls = 1;
  return {
    now() {
      calls += 1;
      return clock.now() + 1 - 1 / calls;
    },
    after: (delayMs, run) => clock.after(delayMs, run),
  };
}
