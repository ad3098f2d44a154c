import { expect, test } from "bun:test";
import { ExpiringMap } from "../../../../src/modules/accounts/expiring-map.ts";
import { createSignInLimits, type SignInLimits } from "../../../../src/modules/accounts/sign-in/limits.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const wrong = () => Promise.reject(new AppError("INVALID_CREDENTIALS", "wrong"));
const halfway = () => Promise.reject(new AppError("SECOND_FACTOR_REQUIRED", "a code"));
const right = () => Promise.resolve("in");

/** The attempt's result, or the code of its error with the seconds to wait. */
async function tryOnce(
  limits: SignInLimits,
  who: Partial<Parameters<SignInLimits["attempt"]>[0]>,
  work: () => Promise<string>,
) {
  try {
    return await limits.attempt({ network: null, email: "ana@example.com", isKnown: false, ...who }, work);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.retryAfterS === undefined ? error.code : `${error.code} ${error.retryAfterS}`;
  }
}

test("the wait of an account grows to half a minute and no further, and its person gets in between", async () => {
  const clock = fakeClock();
  const limits = createSignInLimits(clock, 0);
  const waits: string[] = [];
  for (let guess = 0; guess < 14; guess++) {
    expect(await tryOnce(limits, {}, wrong)).toBe("INVALID_CREDENTIALS");
    const next = await tryOnce(limits, {}, right);
    if (next === "in") {
      // It was forgotten: the guesser begins anew.
      for (let again = 0; again <= guess; again++) await tryOnce(limits, {}, wrong);
      continue;
    }
    waits.push(next);
    clock.advance(Number(next.split(" ")[1]) * 1_000);
  }
  expect(waits.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 30].map((seconds) => `RATE_LIMITED ${seconds}`));
  expect(new Set(waits.slice(5))).toEqual(new Set(["RATE_LIMITED 30"]));
  expect(await tryOnce(limits, {}, right)).toBe("in");
});

test("nobody locks another out: a known network does not wait, and other accounts are not concerned", async () => {
  const limits = createSignInLimits(fakeClock(), 0);
  for (let guess = 0; guess < 1_000; guess++) await tryOnce(limits, {}, wrong);
  expect(await tryOnce(limits, {}, right)).toMatch(/^RATE_LIMITED/);
  expect(await tryOnce(limits, { isKnown: true }, right)).toBe("in");
  expect(await tryOnce(limits, { email: "eva@example.com" }, right)).toBe("in");
});

test("a network has so many guesses a minute; sign-ins that work take none of them", async () => {
  const clock = fakeClock();
  const limits = createSignInLimits(clock, 10);
  const from = (network: string, email: string, work: () => Promise<string>) =>
    tryOnce(limits, { network, email, isKnown: true }, work);
  for (let time = 0; time < 50; time++) expect(await from("192.0.2.7", "eva@example.com", right)).toBe("in");
  for (let time = 0; time < 50; time++) expect(await from("192.0.2.7", "eva@example.com", halfway)).toMatch(/^SECOND/);
  for (let guess = 0; guess < 10; guess++)
    expect(await from("192.0.2.7", `user${guess}@example.com`, wrong)).toBe("INVALID_CREDENTIALS");
  expect(await from("192.0.2.7", "eva@example.com", right)).toBe("RATE_LIMITED 6");
  expect(await from("192.0.2.8", "eva@example.com", right)).toBe("in");
  clock.advance(6_000);
  expect(await from("192.0.2.7", "eva@example.com", right)).toBe("in");
});

test("a right password without its code does not make guesses of others forgotten", async () => {
  const limits = createSignInLimits(fakeClock(), 0);
  const { promise, reject } = Promise.withResolvers<string>();
  const slow = tryOnce(limits, {}, () => promise);
  for (let guess = 0; guess < 8; guess++) await tryOnce(limits, {}, wrong);
  reject(new AppError("SECOND_FACTOR_REQUIRED", "a code"));
  expect(await slow).toBe("SECOND_FACTOR_REQUIRED");
  expect(await tryOnce(limits, {}, right)).toMatch(/^RATE_LIMITED/);
});

test("attempts that run at once count before they end", async () => {
  const limits = createSignInLimits(fakeClock(), 0);
  const { promise, reject } = Promise.withResolvers<string>();
  const all = Array.from({ length: 20 }, () => tryOnce(limits, {}, () => promise));
  reject(new AppError("INVALID_CREDENTIALS", "wrong"));
  const ended = await Promise.all(all);
  expect(ended.filter((each) => each === "INVALID_CREDENTIALS")).toHaveLength(5);
});

test("the map forgets what is too old, and the oldest when it is full", () => {
  const clock = fakeClock();
  const map = new ExpiringMap<number, string>(3, 1_000, clock);
  for (const key of [1, 2, 3, 4]) map.set(key, `v${key}`);
  expect([map.size, map.get(1), map.get(2), map.get(4)]).toEqual([3, undefined, "v2", "v4"]);
  clock.advance(500);
  map.set(2, "again");
  clock.advance(500);
  expect([map.get(3), map.get(2)]).toEqual([undefined, "again"]);
  expect([map.take(2), map.take(2)]).toEqual(["again", undefined]);
  map.set(5, "v5");
  expect(map.size).toBe(1);
});
