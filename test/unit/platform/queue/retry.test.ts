import { expect, test } from "bun:test";
import { nextRetryAt } from "../../../../src/platform/queue/retry-delay.ts";
import type { Random } from "../../../../src/platform/random.ts";

const NOW = Date.UTC(2026, 10, 21);
const MINUTES = [1, 5, 30].map((minutes) => minutes * 60_000);

const drawing = (unit: number): Random => ({ bytes: (count) => new Uint8Array(count), unit: () => unit });

test("each attempt is followed by its place in the schedule, the last one by its last place", () => {
  const delays = [1, 2, 3, 4, 1_000].map((attempts) => nextRetryAt(attempts, MINUTES, NOW, drawing(0.5)) - NOW);
  expect(delays).toEqual([60_000, 300_000, 1_800_000, 1_800_000, 1_800_000]);
});

test("a retry strays by a tenth at the most, to either side", () => {
  expect(nextRetryAt(1, MINUTES, NOW, drawing(0)) - NOW).toBe(54_000);
  expect(nextRetryAt(1, MINUTES, NOW, drawing(0.999_999)) - NOW).toBe(66_000);
});

test("the time is a whole number of milliseconds, always later than now", () => {
  for (let i = 0; i < 1_000; i++) {
    const at = nextRetryAt(1 + (i % 5), [1_001, 7_777, 1], NOW, drawing(i / 1_000));
    expect(Number.isInteger(at)).toBe(true);
    expect(at).toBeGreaterThan(NOW);
  }
});
