import { expect, test } from "bun:test";
import { Recent } from "../../src/platform/metrics/recent-values.ts";
import { seeded } from "../db/temporary.ts";

const MINUTE_MS = 60_000;
const START = Date.UTC(2026, 0, 1);

test("a quantile is the right one of the values, up to 10 % too high", () => {
  const random = seeded(7);
  const recent = new Recent();
  // Over seven powers of ten, as waits are spread.
  const values = Array.from({ length: 20_000 }, () => 10 ** (random() * 7 - 5.5));
  for (const value of values) recent.observe(value, START);
  values.sort((a, b) => a - b);
  for (const share of [0.01, 0.5, 0.9, 0.99, 0.999]) {
    const exact = values[Math.ceil(share * values.length) - 1]!;
    const told = recent.quantile(share, START);
    expect(told / exact).toBeGreaterThanOrEqual(0.999);
    expect(told / exact).toBeLessThanOrEqual(1.101);
  }
  expect(recent.max(START)).toBe(values.at(-1)!);
  expect(recent.quantile(1, START)).toBe(values.at(-1)!);
});

test("nothing is known before the first value", () => {
  expect(new Recent().quantile(0.99, START)).toBeNaN();
  expect(new Recent().max(START)).toBeNaN();
});

test("what is older than five minutes is forgotten, minute by minute", () => {
  const recent = new Recent();
  for (let minute = 0; minute < 5; minute++) recent.observe(minute + 1, START + minute * MINUTE_MS);
  expect(recent.max(START + 4 * MINUTE_MS)).toBe(5);
  expect(recent.quantile(0.01, START + 4 * MINUTE_MS)).toBeCloseTo(1, 0);
  expect(recent.quantile(0.01, START + 5 * MINUTE_MS)).toBeGreaterThan(1.9);
  expect(recent.max(START + 8 * MINUTE_MS)).toBe(5);
  expect(recent.max(START + 9 * MINUTE_MS)).toBeNaN();
  // A place that is used again begins anew.
  recent.observe(0.25, START + 9 * MINUTE_MS);
  expect(recent.max(START + 9 * MINUTE_MS)).toBe(0.25);
});

test("a clock that is set back loses nothing but the future", () => {
  const recent = new Recent();
  recent.observe(9, START + 60 * MINUTE_MS);
  recent.observe(1, START);
  expect(recent.max(START)).toBe(1);
});

test("values beyond every bucket count in the last, and the smallest in the first", () => {
  const recent = new Recent();
  for (const value of [0, -1, 1e-9]) recent.observe(value, START);
  expect(recent.quantile(0.99, START)).toBeLessThan(1e-5);
  recent.observe(5_000, START);
  expect(recent.quantile(1, START)).toBeGreaterThan(100);
  expect(recent.max(START)).toBe(5_000);
});
