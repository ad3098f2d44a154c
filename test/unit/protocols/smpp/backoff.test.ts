import { expect, test } from "bun:test";
import { Backoff } from "../../../../src/protocols/smpp/reconnect-delay.ts";

const LOST = { kind: "lost", boundMs: 0 } as const;
const times = (count: number, wait: () => number) => Array.from({ length: count }, wait);

test("a connection is tried again after 1, 2, 4 … 60 seconds", () => {
  const backoff = new Backoff(() => 0.5);
  expect(times(9, () => backoff.after(LOST) / 1_000)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  expect(backoff.failures).toBe(9);
});

test("times a random half to one and a half", () => {
  expect(new Backoff(() => 0).after(LOST)).toBe(500);
  expect(new Backoff(() => 0.999).after(LOST)).toBeCloseTo(1_499, 0);
});

test("only a minute of health lets it begin anew", () => {
  const backoff = new Backoff(() => 0.5);
  times(5, () => backoff.after(LOST));
  expect(backoff.after({ kind: "lost", boundMs: 59_999 })).toBe(32_000);
  expect(backoff.after({ kind: "lost", boundMs: 60_000 })).toBe(1_000);
  expect(backoff.after(LOST)).toBe(2_000);
});

test("a bind refused for its settings is tried again after a minute up to a quarter of an hour, for ever", () => {
  const backoff = new Backoff(() => 0);
  expect(times(7, () => backoff.after({ kind: "refused" }) / 60_000)).toEqual([1, 2, 4, 8, 15, 15, 15]);
  const late = new Backoff(() => 0.999);
  for (const wait of times(50, () => late.after({ kind: "refused" }))) {
    expect(wait).toBeGreaterThanOrEqual(60_000);
    expect(wait).toBeLessThanOrEqual(900_000);
  }
});

test("an old session that lingers is given 30 to 60 seconds, every time", () => {
  expect(new Backoff(() => 0).after({ kind: "lingering" })).toBe(30_000);
  const backoff = new Backoff(() => 0.999);
  for (const wait of times(5, () => backoff.after({ kind: "lingering" }))) expect(wait).toBeLessThan(60_000);
});
