import { describe, expect, test } from "bun:test";
import { type BucketRate, TokenBuckets } from "../../../../src/platform/http/token-buckets.ts";
import { seeded } from "../../../support/db/temporary.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const SENDS: BucketRate = { name: "sends", rate: 100, perMs: 1_000, burst: 200 };
const FAILURES: BucketRate = { name: "failed-keys", rate: 10, perMs: 60_000, burst: 10 };

/** How many of `count` requests of `key` at `now` get a token. */
function taken(buckets: TokenBuckets<string>, key: string, count: number, now: number): number {
  let got = 0;
  for (let asked = 0; asked < count; asked++) if (buckets.take(key, now) === 0) got += 1;
  return got;
}

test("as many as the burst come at once, then as many as the rate gives", () => {
  const buckets = new TokenBuckets<string>(SENDS);
  expect(taken(buckets, "a", 300, NOON)).toBe(200);
  expect(taken(buckets, "a", 300, NOON + 9)).toBe(0);
  expect(taken(buckets, "a", 300, NOON + 10)).toBe(1);
  expect(taken(buckets, "a", 300, NOON + 1_010)).toBe(100);
  expect(taken(buckets, "a", 500, NOON + 60_000)).toBe(200);
});

test("one key's bucket is nobody else's", () => {
  const buckets = new TokenBuckets<string>(SENDS);
  expect(taken(buckets, "a", 300, NOON)).toBe(200);
  expect(taken(buckets, "b", 300, NOON)).toBe(200);
});

test("the wait is true: a request that waits as many whole seconds passes, one a second earlier does not", () => {
  for (const rate of [1, 3, 7, 10, 60, 99]) {
    for (const burst of [1, 2, 5, 10]) {
      for (const perMs of [1_000, 60_000, 3_600_000]) {
        const buckets = new TokenBuckets<string>({ name: "x", rate, perMs, burst });
        expect(taken(buckets, "a", burst + 5, NOON)).toBe(burst);
        const waitMs = buckets.take("a", NOON);
        const seconds = buckets.wholeSeconds(waitMs);
        expect(seconds).toBe(Math.max(1, Math.ceil(perMs / rate / 1_000)));
        if (seconds > 1) expect(buckets.take("a", NOON + (seconds - 1) * 1_000)).toBeGreaterThan(0);
        expect(buckets.take("a", NOON + seconds * 1_000)).toBe(0);
      }
    }
  }
});

test("being refused costs nothing: who keeps asking gets in as soon as who waited", () => {
  const buckets = new TokenBuckets<string>(FAILURES);
  expect(taken(buckets, "a", 1_000, NOON)).toBe(10);
  for (let ms = 100; ms < 6_000; ms += 100) expect(buckets.take("a", NOON + ms)).toBeGreaterThan(0);
  expect(buckets.take("a", NOON + 6_000)).toBe(0);
});

describe("what the answer's fields say", () => {
  test.each<[Partial<BucketRate>, string]>([
    [{}, '"x";q=200;w=2'],
    [{ rate: 50, burst: 100 }, '"x";q=100;w=2'],
    [{ rate: 10, perMs: 60_000, burst: 10 }, '"x";q=10;w=60'],
    [{ rate: 10, perMs: 3_600_000, burst: 10 }, '"x";q=10;w=3600'],
    [{ rate: 3, burst: 4 }, '"x";q=4;w=2'],
    [{ rate: 1_000_000, burst: 1 }, '"x";q=1;w=1'],
  ])("of the policy %p: %s", (changes, policy) => {
    expect(new TokenBuckets({ ...SENDS, name: "x", ...changes }).policy).toBe(policy);
  });

  test("of what is left, and when there is more", () => {
    const buckets = new TokenBuckets<string>(FAILURES);
    expect(buckets.left("a", NOON)).toBe('"failed-keys";r=10;t=0');
    buckets.take("a", NOON);
    expect(buckets.left("a", NOON)).toBe('"failed-keys";r=9;t=6');
    buckets.take("a", NOON + 4_500);
    expect(buckets.left("a", NOON + 4_500)).toBe('"failed-keys";r=8;t=2');
    taken(buckets, "a", 20, NOON + 4_500);
    expect(buckets.left("a", NOON + 4_500)).toBe('"failed-keys";r=0;t=2');
    expect(buckets.left("a", NOON + 6_000)).toBe('"failed-keys";r=1;t=6');
  });

  test("never that there is more before a request could get it", () => {
    const buckets = new TokenBuckets<string>({ name: "x", rate: 7, perMs: 60_000, burst: 3 });
    const random = seeded(7);
    let now = NOON;
    for (let step = 0; step < 2_000; step++) {
      const waitMs = buckets.take("a", now);
      const [, left, more] = /;r=(\d+);t=(\d+)$/.exec(buckets.left("a", now)) ?? [];
      if (waitMs > 0) expect([left, Number(more)]).toEqual(["0", buckets.wholeSeconds(waitMs)]);
      expect(Number(more)).toBeGreaterThan(0);
      now += Math.floor(random() * 9_000);
    }
  });
});

test("a clock that is put back locks nobody out, and gives nothing away", () => {
  const buckets = new TokenBuckets<string>(FAILURES);
  expect(taken(buckets, "a", 8, NOON)).toBe(8);
  const back = NOON - 3_600_000;
  expect(taken(buckets, "a", 5, back)).toBe(2);
  expect(buckets.take("a", back + 5_999)).toBeGreaterThan(0);
  expect(buckets.take("a", back + 6_000)).toBe(0);
  expect(taken(buckets, "b", 20, back + 6_000)).toBe(10);
  // And forward again by the hour.
  expect(taken(buckets, "a", 20, NOON)).toBe(10);
});

test("a token given back is there again, and never more than a full bucket", () => {
  const buckets = new TokenBuckets<string>(FAILURES);
  expect(taken(buckets, "a", 20, NOON)).toBe(10);
  buckets.giveBack("a", NOON);
  expect(taken(buckets, "a", 20, NOON)).toBe(1);
  for (let time = 0; time < 30; time++) buckets.giveBack("a", NOON);
  expect(buckets.size).toBe(0);
  buckets.giveBack("b", NOON);
  expect([taken(buckets, "a", 20, NOON), taken(buckets, "b", 20, NOON)]).toEqual([10, 10]);
});

test("what is full again is forgotten", () => {
  const buckets = new TokenBuckets<string>(SENDS);
  for (let key = 0; key < 1_000; key++) buckets.take(`once ${key}`, NOON);
  taken(buckets, "busy", 200, NOON + 1_500);
  expect(buckets.size).toBe(1_001);
  buckets.take("next", NOON + 2_100);
  expect(buckets.size).toBe(2);
  // The busy one kept what it had used.
  expect(taken(buckets, "busy", 300, NOON + 2_100)).toBe(60);
});

test("of more keys than can be remembered the oldest are forgotten", () => {
  const buckets = new TokenBuckets<string>(FAILURES, 100);
  for (let key = 0; key < 1_000; key++) expect(taken(buckets, `${key}`, 20, NOON)).toBe(10);
  expect(buckets.size).toBe(100);
  expect(taken(buckets, "999", 1, NOON)).toBe(0);
  expect(taken(buckets, "900", 1, NOON)).toBe(0);
  expect(taken(buckets, "0", 20, NOON)).toBe(10);
});

test("whatever is asked in whatever order, it is what a plain bucket of tokens would say", () => {
  const random = seeded(20_261_121);
  for (let run = 0; run < 50; run++) {
    const tokenMs = 1 + Math.floor(random() * 500);
    const burst = 1 + Math.floor(random() * 20);
    const buckets = new TokenBuckets<number>({ name: "x", rate: 1, perMs: tokenMs, burst });
    const plain = new Map<number, { level: number; at: number }>();
    let now = NOON;
    for (let step = 0; step < 400; step++) {
      now += Math.floor(random() * random() * tokenMs * 4);
      const key = Math.floor(random() * 5);
      const bucket = plain.get(key) ?? { level: burst * tokenMs, at: now };
      plain.set(key, bucket);
      bucket.level = Math.min(burst * tokenMs, bucket.level + (now - bucket.at));
      bucket.at = now;
      const expected = bucket.level >= tokenMs ? 0 : tokenMs - bucket.level;
      if (expected === 0) bucket.level -= tokenMs;
      expect([run, step, buckets.take(key, now)]).toEqual([run, step, expected]);
      expect(buckets.left(key, now)).toStartWith(`"x";r=${Math.floor(bucket.level / tokenMs)};`);
    }
  }
});
