import { expect, test } from "bun:test";
import { Rate } from "../../src/smpp/rate.ts";

const [OK, FULL, THROTTLED] = [0x00, 0x14, 0x58];

/** Sends all it may, every ms. @returns how much */
function sendFor(rate: Rate, fromMs: number, toMs: number): number {
  let sent = 0;
  for (let now = fromMs; now < toMs; now += 1) {
    const free = rate.available(now);
    rate.take(free, now);
    sent += free;
  }
  return sent;
}

test("no more than the rate and a burst of a tenth of a second goes out", () => {
  const rate = new Rate(50, 0);
  expect(rate.available(0)).toBe(5);
  const sent = sendFor(rate, 0, 10_000);
  expect(sent).toBeGreaterThanOrEqual(500);
  expect(sent).toBeLessThanOrEqual(505);
  expect(sendFor(new Rate(1, 0), 0, 10_000)).toBe(10);
});

test("an hour of silence saves up no more than the burst", () => {
  const rate = new Rate(50, 0);
  rate.take(5, 0);
  expect(rate.available(3_600_000)).toBe(5);
});

test("it says when it is worth asking again", () => {
  const rate = new Rate(50, 0);
  rate.take(5, 0);
  const at = rate.readyAt(0);
  expect(at).toBe(20);
  expect([rate.available(at - 1), rate.available(at)]).toEqual([0, 1]);
});

test("0x58 halves the rate and stops sending for a second, however many come at once", () => {
  const rate = new Rate(40, 0);
  expect(rate.answered(THROTTLED, 100)).toBe(true);
  for (let time = 0; time < 50; time += 1) expect(rate.answered(THROTTLED, 200)).toBe(false);
  expect(rate.perSecond).toBe(20);
  expect([rate.available(1_099), rate.readyAt(500)]).toEqual([0, 1_100]);
  expect(rate.available(1_100)).toBe(2);
});

test("the rate never falls below one a second", () => {
  const rate = new Rate(10, 0);
  for (let second = 0; second < 20; second += 1) rate.answered(THROTTLED, second * 1_000);
  expect(rate.perSecond).toBe(1);
});

test("after a complaint it gains 5 % every ten seconds, up to what is configured", () => {
  const rate = new Rate(100, 0);
  rate.answered(THROTTLED, 0);
  rate.available(9_999);
  expect(rate.perSecond).toBe(50);
  rate.available(10_000);
  expect(rate.perSecond).toBe(52.5);
  // A complaint while it still pauses counts the ten seconds anew.
  rate.answered(THROTTLED, 15_000);
  rate.available(24_999);
  expect(rate.perSecond).toBe(26.25);
  rate.available(3_600_000);
  expect(rate.perSecond).toBe(100);
});

test("an SMSC that takes two a second ends up with little more than that", () => {
  const rate = new Rate(50, 0);
  let [tokens, refused] = [2, 0];
  for (let now = 0; now < 120_000; now += 10) {
    tokens = Math.min(2, tokens + 0.02);
    const free = rate.available(now);
    rate.take(free, now);
    for (let nth = 0; nth < free; nth += 1) {
      const isTaken = tokens >= 1;
      if (isTaken) tokens -= 1;
      if (!isTaken && now > 20_000) refused += 1;
      rate.answered(isTaken ? OK : THROTTLED, now);
    }
  }
  expect(rate.perSecond).toBeLessThan(4);
  expect(refused).toBeLessThan(30);
});

test("a full queue at one destination changes nothing; in more than a fifth of the answers it is all of them", () => {
  const rate = new Rate(40, 0);
  for (let nth = 0; nth < 100; nth += 1) expect(rate.answered(nth % 10 === 0 ? FULL : OK, 0)).toBe(false);
  const slowed = Array.from({ length: 10 }, () => rate.answered(FULL, 1));
  expect(slowed.filter(Boolean)).toHaveLength(1);
  expect(rate.perSecond).toBe(20);
});
