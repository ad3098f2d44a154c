import { expect, test } from "bun:test";
import { ExpiryClock } from "../../../../../src/modules/emails/delivery/expiry-clock.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const START = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const DAY = 86_400_000;

function clocks() {
  const steady = fakeClock(0);
  let offset = START;
  const clock = new ExpiryClock({ now: () => steady.now() + offset, after: steady.after }, steady);
  return { clock, set: (byMs: number) => void (offset += byMs), steady };
}

test("a day that the clock is set on does not pass for an hour, and then it does", () => {
  const { clock, set, steady } = clocks();
  steady.advance(MINUTE);
  set(DAY);
  expect(clock.now()).toBe(START + MINUTE);
  steady.advance(59 * MINUTE);
  expect(clock.now()).toBe(START + 60 * MINUTE);
  steady.advance(MINUTE + 1);
  expect(clock.now()).toBe(START + DAY + 61 * MINUTE + 1);
});

test("a clock that is set on and right again has never been wrong", () => {
  const { clock, set, steady } = clocks();
  set(DAY);
  clock.now();
  set(DAY);
  expect(clock.now()).toBe(START);
  set(-2 * DAY);
  expect(clock.now()).toBe(START);
  steady.advance(2 * 60 * MINUTE);
  expect(clock.now()).toBe(START + 120 * MINUTE);
});

test("one that is set back, or drifts, is followed", () => {
  const { clock, set, steady } = clocks();
  set(-DAY);
  expect(clock.now()).toBe(START - DAY);
  for (let minute = 1; minute <= 60; minute += 1) {
    set(1_000);
    steady.advance(MINUTE);
    expect(clock.now()).toBe(START - DAY + minute * (MINUTE + 1_000));
  }
});
