import { expect, test } from "bun:test";
import { LookupCache } from "../../../../src/protocols/dns/cache.ts";
import type { Lookup } from "../../../../src/protocols/dns/lookup.ts";
import { createManualClock } from "../../../support/dns/manual-clock.ts";

const found: Lookup<string> = { kind: "found", records: ["1"], ttlS: 0, server: "s" };
const noName: Lookup<string> = { kind: "no_name", server: "s" };

test("answers are held for their TTL, but never under 5 s, over an hour, or over 5 min when negative", () => {
  const cases: [Lookup<string>, ttlS: number, heldS: number][] = [
    [found, 0, 5],
    [found, 60, 60],
    [found, 86_400, 3600],
    [found, Number.POSITIVE_INFINITY, 3600],
    [noName, 1, 5],
    [noName, 120, 120],
    [noName, 86_400, 300],
  ];
  for (const [lookup, ttlS, heldS] of cases) {
    const clock = createManualClock();
    const cache = new LookupCache(clock);
    cache.store("A x", lookup, { ttlS, owner: 0 });
    clock.advance(heldS * 1000 - 1);
    expect(cache.find("A x", 0)?.kind).toBe(lookup.kind);
    clock.advance(1);
    expect(cache.find("A x", 0)).toBeNull();
    expect(cache.size).toBe(0);
  }
});

test("failures are not held", () => {
  const cache = new LookupCache(createManualClock());
  cache.store("A x", { kind: "failed", reason: "r" }, { ttlS: 100, owner: 0 });
  expect(cache.find("A x", 0)).toBeNull();
});

const KIB = 1_024;
/** About a KiB. */
const large: Lookup<string> = { ...found, records: ["x".repeat(260)] };

test("past its limit of bytes the cache drops the oldest entry, and a renewed one is young again", () => {
  const cache = new LookupCache(createManualClock(), 2.5 * KIB);
  for (const key of ["A 1", "A 2", "A 1", "A 3"]) cache.store(key, large, { ttlS: 60, owner: 0 });
  expect(cache.size).toBe(2);
  expect(cache.bytes).toBeLessThanOrEqual(2.5 * KIB);
  expect(cache.find("A 2", 0)).toBeNull();
  expect(cache.find("A 1", 0)).not.toBeNull();
});

test("one that is larger than the cache is not held", () => {
  const cache = new LookupCache(createManualClock(), KIB);
  cache.store("TXT x", { ...found, records: ["x".repeat(16 * KIB)] }, { ttlS: 60, owner: 0 });
  expect([cache.size, cache.bytes]).toEqual([0, 0]);
});

test("who asks for many names washes out their own, and not what others share with them", () => {
  const cache = new LookupCache(createManualClock(), 100 * KIB);
  // The flood asked for the provider first.
  cache.store("MX provider", large, { ttlS: 60, owner: 1 });
  cache.store("A 1", large, { ttlS: 60, owner: 1 });
  cache.store("A small", large, { ttlS: 60, owner: 2 });
  expect(cache.find("MX provider", 3)).not.toBeNull();
  for (let i = 0; i < 5_000; i++) {
    cache.store(`A ${i}`, large, { ttlS: 60, owner: 1 });
    // Nor does asking for it make it theirs.
    cache.find("MX provider", 1);
  }
  expect(cache.bytes).toBeLessThanOrEqual(100 * KIB);
  expect([cache.find("A small", 1), cache.find("MX provider", 1)].map((lookup) => lookup?.kind)).toEqual([
    "found",
    "found",
  ]);
  cache.clear();
  expect([cache.size, cache.bytes]).toEqual([0, 0]);
});

test("what is over is swept out, asked for again or not", () => {
  const clock = createManualClock();
  const cache = new LookupCache(clock);
  for (let i = 0; i < 100; i++) cache.store(`A ${i}`, found, { ttlS: 30, owner: i });
  clock.advance(61_000);
  cache.store("A new", found, { ttlS: 30, owner: 0 });
  expect(cache.size).toBe(1);
});

test("a clock that goes back does not keep an answer alive", () => {
  const clock = createManualClock();
  const cache = new LookupCache(clock);
  cache.store("A x", found, { ttlS: 60, owner: 0 });
  clock.set(clock.now() - 86_400_000);
  expect(cache.find("A x", 0)).toBeNull();
});
