/** Time as an argument: what runs against it can be tested at any hour. */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Runs `run` once after `delayMs` (≥ 0) milliseconds; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

/** A timer that is set for longer fires at once: longer waits are taken in steps. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, run) {
    let timer: Timer;
    const wait = (leftMs: number): void => {
      timer = leftMs > MAX_TIMER_MS ? setTimeout(wait, MAX_TIMER_MS, leftMs - MAX_TIMER_MS) : setTimeout(run, leftMs);
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
};

/** One whose `now` counts from any moment on and never jumps: for what measures spans and stores no time. */
export const steadyClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, run) => systemClock.after(delayMs, run),
};
