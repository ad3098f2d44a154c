import { expect, test } from "bun:test";
import { LookupCache } from "../../src/dns/cache.ts";
import type { Lookup } from "../../src/dns/lookup.ts";
import { createManualClock } from "./manual-clock.ts";

const found: Lookup<string> = { kind: "found", records: ["1"], ttlS: 0, isAuthentic: false, server: "s" };
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
    cache.store("A x", lookup, ttlS);
    clock.advance(heldS * 1000 - 1);
    expect(cache.find("A x")?.kind).toBe(lookup.kind);
    clock.advance(1);
    expect(cache.find("A x")).toBeNull();
    expect(cache.size).toBe(0);
  }
});

test("failures are not held", () => {
  const cache = new LookupCache(createManualClock());
  cache.store("A x", { kind: "failed", reason: "r" }, 100);
  expect(cache.find("A x")).toBeNull();
});

test("past its limit the cache drops the oldest entry, and a renewed one is young again", () => {
  const cache = new LookupCache(createManualClock(), 2);
  cache.store("A 1", found, 60);
  cache.store("A 2", found, 60);
  cache.store("A 1", found, 60);
  cache.store("A 3", found, 60);
  expect(cache.size).toBe(2);
  expect(cache.find("A 2")).toBeNull();
  expect(cache.find("A 1")).not.toBeNull();
});

test("a clock that goes back does not keep an answer alive", () => {
  const clock = createManualClock();
  const cache = new LookupCache(clock);
  cache.store("A x", found, 60);
  clock.set(clock.now() - 86_400_000);
  expect(cache.find("A x")).toBeNull();
});
