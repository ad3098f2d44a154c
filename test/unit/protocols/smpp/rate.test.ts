import { expect, test } from "bun:test";
import { Rate } from "../../../../src/protocols/smpp/rate.ts";

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

/** So many answers to what is sent at `now`. @returns how often it slowed down */
function answer(rate: Rate, status: number, times: number, now: number): number {
  return Array.from({ length: times }, () => rate.responded(status, now, now)).filter(Boolean).length;
}

test("one answer of 0x58 among many changes nothing", () => {
  const rate = new Rate(40, 0);
  for (let nth = 1; nth <= 1_000; nth += 1)
    expect(rate.responded(nth % 100 === 0 ? THROTTLED : OK, nth, nth)).toBe(false);
  expect(rate.perSecond).toBe(40);
});

test("where nothing is taken, the rate is halved once for all that was on its way, down to one a second", () => {
  const rate = new Rate(40, 0);
  expect(answer(rate, THROTTLED, 50, 1)).toBe(1);
  expect(rate.perSecond).toBe(20);
  // Sent before that, and answered after it.
  for (let time = 0; time < 50; time += 1) expect(rate.responded(THROTTLED, 1, 60)).toBe(false);
  expect(answer(rate, THROTTLED, 50, 61)).toBe(1);
  expect(rate.perSecond).toBe(10);
  for (let now = 100; now < 120; now += 1) answer(rate, THROTTLED, 50, now);
  expect(rate.perSecond).toBe(1);
});

test("it is not slower than what was taken in the last minute", () => {
  const rate = new Rate(100, 0);
  for (let now = 0; now < 10_000; now += 100) answer(rate, OK, 8, now);
  for (let now = 10_000; now < 10_020; now += 1) answer(rate, THROTTLED, 50, now);
  expect(rate.perSecond).toBeCloseTo(80, 0);
  // What was taken is forgotten in a minute or two.
  for (let now = 11_000; now < 200_000; now += 100) answer(rate, THROTTLED, 5, now);
  expect(rate.perSecond).toBeLessThan(10);
});

test("each segment that is taken adds a thirtieth of one a second, up to what is configured", () => {
  const rate = new Rate(40, 0);
  answer(rate, THROTTLED, 50, 1);
  answer(rate, OK, 60, 2);
  expect(rate.perSecond).toBeCloseTo(22);
  answer(rate, OK, 1_000, 3);
  expect(rate.perSecond).toBe(40);
});

test("a full queue at one destination changes nothing; in more than a fifth of the answers it is all of them", () => {
  const rate = new Rate(40, 0);
  for (let nth = 0; nth < 100; nth += 1) expect(rate.responded(nth % 10 === 0 ? FULL : OK, nth, nth)).toBe(false);
  expect(answer(rate, FULL, 30, 100_000)).toBe(1);
  expect(rate.perSecond).toBe(20);
});

interface Smsc {
  offeredPerSecond: number;
  takes: (now: number) => boolean;
}

const ROUND_TRIP_MS = 50;
const WINDOW = 200;

/**
 * A link to such an SMSC for so long: what is refused is sent again a second later.
 * @returns a second's figures of the last half of the time
 */
function run(rate: Rate, { offeredPerSecond, takes }: Smsc, seconds: number) {
  const onTheirWay: { sentAt: number; isTaken: boolean }[] = [];
  const again: number[] = [];
  const counted = { taken: 0, throttled: 0, waiting: 0 };
  let offered = 0;
  for (let now = 0; now < seconds * 1_000; now += 1) {
    offered += offeredPerSecond / 1_000;
    for (; (again[0] ?? Infinity) <= now; again.shift()) counted.waiting += 1;
    for (; offered >= 1; offered -= 1) counted.waiting += 1;
    if (now === seconds * 500) Object.assign(counted, { taken: 0, throttled: 0 });
    for (;;) {
      const [oldest] = onTheirWay;
      if (oldest === undefined || oldest.sentAt + ROUND_TRIP_MS > now) break;
      onTheirWay.shift();
      rate.responded(oldest.isTaken ? OK : THROTTLED, oldest.sentAt, now);
      counted[oldest.isTaken ? "taken" : "throttled"] += 1;
      if (!oldest.isTaken) again.push(now + 1_000);
    }
    const sent = Math.min(rate.available(now), WINDOW - onTheirWay.length, counted.waiting);
    rate.take(sent, now);
    counted.waiting -= sent;
    for (let nth = 0; nth < sent; nth += 1) onTheirWay.push({ sentAt: now, isTaken: takes(now) });
  }
  return {
    taken: counted.taken / (seconds / 2),
    throttled: counted.throttled / (seconds / 2),
    waiting: counted.waiting,
  };
}

/** One in a hundred is refused, by chance. */
function oneInAHundred(): () => boolean {
  let seed = 7;
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return seed / 2 ** 32 >= 0.01;
  };
}

/** No more than so many a second, as a bucket that holds a tenth of that, from `since` on. */
function limit(perSecond: number, since = 0): (now: number) => boolean {
  let [tokens, countedAt] = [0, since];
  return (now) => {
    if (now < since) return true;
    tokens = Math.min(Math.max(1, perSecond / 10), tokens + ((now - countedAt) / 1_000) * perSecond);
    countedAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}

test("one in a hundred throttled at 18 a second: all of them go, on a fast link and on one that is just fast enough", () => {
  for (const configured of [2_000, 20]) {
    const seen = run(new Rate(configured, 0), { offeredPerSecond: 18, takes: oneInAHundred() }, 600);
    expect(seen.taken).toBeGreaterThanOrEqual(17.9);
    // Those that wait for their second.
    expect(seen.waiting).toBeLessThan(18);
  }
});

test("one in a hundred throttled at 2,000 a second: nearly all that the SMSC takes goes", () => {
  const seen = run(new Rate(2_000, 0), { offeredPerSecond: 2_500, takes: oneInAHundred() }, 60);
  expect(seen.taken).toBeGreaterThan(0.95 * 2_000);
});

test("a limit of the SMSC is found and kept to, without a storm of refusals", () => {
  for (const [configured, takes] of [
    [2_000, 100],
    [200, 100],
    [50, 2],
  ] as const) {
    const rate = new Rate(configured, 0);
    const seen = run(rate, { offeredPerSecond: configured, takes: limit(takes) }, 240);
    expect(seen.taken).toBeGreaterThan(0.7 * takes);
    expect(seen.throttled).toBeLessThan(Math.max(0.5, 0.06 * takes));
    expect(rate.perSecond).toBeLessThan(1.2 * takes + 1);
  }
});

test("a limit by the calendar's second is found as well, though refusals come in rows", () => {
  let [second, count] = [-1, 0];
  const takes = (now: number) => {
    if (Math.floor(now / 1_000) !== second) [second, count] = [Math.floor(now / 1_000), 0];
    count += 1;
    return count <= 100;
  };
  const seen = run(new Rate(2_000, 0), { offeredPerSecond: 2_000, takes }, 120);
  expect(seen.taken).toBeGreaterThan(95);
  expect(seen.throttled).toBeLessThan(8);
});

test("a limit that comes under way is followed in a minute or two", () => {
  const seen = run(new Rate(500, 0), { offeredPerSecond: 450, takes: limit(50, 60_000) }, 400);
  expect(seen.taken).toBeGreaterThan(48);
  expect(seen.throttled).toBeLessThan(5);
});

test("an SMSC that takes nothing for five minutes is asked once a second, and has its rate again five minutes later", () => {
  const rate = new Rate(2_000, 0);
  let asked = 0;
  const takes = (now: number) => {
    if (now > 200_000 && now <= 300_000) asked += 1;
    return now > 300_000;
  };
  run(rate, { offeredPerSecond: 300, takes }, 300);
  expect(rate.perSecond).toBe(1);
  expect(asked).toBeLessThan(110);
  const later = new Rate(2_000, 0);
  const seen = run(later, { offeredPerSecond: 300, takes }, 800);
  expect(seen.taken).toBeGreaterThan(300);
});
