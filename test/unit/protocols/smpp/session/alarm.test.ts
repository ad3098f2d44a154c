import { expect, test } from "bun:test";
import { DeadlineTimer } from "../../../../../src/protocols/smpp/session/deadline-timer.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

test("it rings for what is due first, once", () => {
  const clock = fakeClock(0);
  const rung: number[] = [];
  const alarm = new DeadlineTimer(clock, () => void rung.push(clock.now()));
  alarm.setFor(500);
  alarm.setFor(200);
  alarm.setFor(900);
  clock.advance(10_000);
  expect(rung).toEqual([200]);
  alarm.setFor(Infinity);
  alarm.setFor(10_100);
  alarm.stop();
  clock.advance(10_000);
  expect(rung).toEqual([200]);
});

test("rung long after its time, it lets what has come be read first", () => {
  const fake = fakeClock(0);
  let stoodStillMs = 0;
  const clock = { ...fake, now: () => fake.now() + stoodStillMs };
  const rung: number[] = [];
  const alarm = new DeadlineTimer(clock, () => void rung.push(clock.now()));
  alarm.setFor(1_000);
  fake.advance(500);
  stoodStillMs = 60_000;
  fake.advance(500);
  expect(rung).toEqual([]);
  fake.advance(99);
  expect(rung).toEqual([]);
  fake.advance(1);
  expect(rung).toEqual([61_100]);
});
