import { expect, spyOn, test } from "bun:test";
import { systemClock } from "../../../src/platform/clock.ts";

const DAY = 24 * 60 * 60_000;

/** Runs `work` with timers that the test fires; the delays they were set for so far. */
function withTimers(work: (timers: { delays: number[]; fire: () => void; cleared: unknown[] }) => void): void {
  const delays: number[] = [];
  const cleared: unknown[] = [];
  let last: () => void = () => undefined;
  const set = spyOn(globalThis, "setTimeout").mockImplementation(((
    run: (...args: unknown[]) => void,
    delayMs: number,
    ...args: unknown[]
  ) => {
    delays.push(delayMs);
    last = () => run(...args);
    return delays.length;
  }) as never);
  const clear = spyOn(globalThis, "clearTimeout").mockImplementation((timer) => void cleared.push(timer));
  try {
    work({ delays, fire: () => last(), cleared });
  } finally {
    set.mockRestore();
    clear.mockRestore();
  }
}

test("a wait of more than 24.8 days is taken in steps, and ends once, at its end", () => {
  withTimers(({ delays, fire }) => {
    let ran = 0;
    systemClock.after(60 * DAY, () => (ran += 1));
    fire();
    fire();
    expect(ran).toBe(0);
    expect(Math.max(...delays)).toBe(2 ** 31 - 1);
    expect(delays.reduce((sum, delay) => sum + delay, 0)).toBe(60 * DAY);
    fire();
    expect(ran).toBe(1);
    expect(delays).toHaveLength(3);
  });
});

test("a long wait is cancelled in whichever step it is", () => {
  withTimers(({ fire, cleared }) => {
    const cancel = systemClock.after(30 * DAY, () => undefined);
    fire();
    cancel();
    expect(cleared).toEqual([2]);
  });
});
