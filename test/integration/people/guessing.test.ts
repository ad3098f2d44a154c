import { expect, test } from "bun:test";
import { expectErrors, startHeld } from "../../support/api/kit.ts";
import { type Answer, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { openBrowser, PASSWORD, signUpOperator } from "../../support/people/browser.ts";

const SESSION = "/api/v1/auth/session";
const NOON = Date.UTC(2026, 10, 21, 12);

const limited = {
  configure(config: Instance["config"]) {
    config.rateLimits.failedAuthPerMinute = 10;
    config.dashboard.url = "https://mail.pombo.test";
    config.http.trustedProxies = ["127.0.0.0/8"];
  },
};

/** From a client behind the reverse proxy. */
const tryFrom = (pombo: Instance, network: string, password: string, email = "ana@example.com"): Promise<Answer> =>
  openBrowser(pombo, "https://mail.pombo.test").call("POST", SESSION, {
    body: { email, password },
    headers: { "x-forwarded-for": network },
  });

test("a thousand guesses from one network are ten a minute, and the person behind another gets in", async () => {
  await using held = await startHeld(NOON, limited);
  const { pombo } = held;
  await signUpOperator(pombo, "ana@example.com", "https://mail.pombo.test");
  expect((await tryFrom(pombo, "198.51.100.1", PASSWORD)).status).toBe(200);
  const before = process.memoryUsage.rss();
  const statuses: number[] = [];
  for (let guess = 0; guess < 1_000; guess += 50) {
    const guesses = Array.from({ length: 50 }, (_, index) => tryFrom(pombo, "203.0.113.9", `guess ${guess + index}`));
    statuses.push(...(await Promise.all(guesses)).map(({ status }) => status));
  }
  const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
  expect(count(401)).toBeLessThanOrEqual(10);
  expect(count(401) + count(429) + count(503)).toBe(1_000);
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
  expect((await tryFrom(pombo, "198.51.100.1", PASSWORD)).status).toBe(200);
});

test("guesses from a thousand networks make an account wait half a minute, and never lock it", async () => {
  await using held = await startHeld(NOON, limited);
  const { pombo, clock } = held;
  await signUpOperator(pombo, "ana@example.com", "https://mail.pombo.test");
  expect((await tryFrom(pombo, "198.51.100.1", PASSWORD)).status).toBe(200);
  let last: Answer | null = null;
  for (let guess = 0; guess < 1_000; guess++) {
    last = await tryFrom(pombo, `10.${guess >> 8}.${guess & 255}.1`, "wrong");
    if (guess < 20) clock.advance(30_000);
  }
  expectErrors(last as Answer, 429, [{ code: "RATE_LIMITED" }]);
  // Where the person is signed in already nothing waits; elsewhere it is half a minute at most.
  expect((await tryFrom(pombo, "198.51.100.1", PASSWORD)).status).toBe(200);
  for (let guess = 0; guess < 30; guess++) await tryFrom(pombo, `10.9.${guess}.1`, "wrong");
  const waiting = await tryFrom(pombo, "198.51.100.77", PASSWORD);
  if (waiting.status !== 200) {
    expect(Number(waiting.headers.get("retry-after"))).toBeLessThanOrEqual(30);
    clock.advance(Number(waiting.headers.get("retry-after")) * 1_000);
    expect((await tryFrom(pombo, "198.51.100.77", PASSWORD)).status).toBe(200);
  }
});

test("an address without account is answered as a wrong password is, in words, headers and time", async () => {
  await using pombo = await startInstance();
  await signUpOperator(pombo);
  const browser = openBrowser(pombo);
  const tryOnce = async (email: string) => {
    const startedAt = performance.now();
    const answer = await browser.call("POST", SESSION, { body: { email, password: "wrong password" } });
    return { answer, tookMs: performance.now() - startedAt };
  };
  const names = (answer: Answer) => [...answer.headers.keys()].toSorted();
  const known: number[] = [];
  const unknown: number[] = [];
  for (let round = 0; round < 4; round++) {
    const there = await tryOnce("ana@example.com");
    const none = await tryOnce(`nobody${round}@example.com`);
    expectErrors(none.answer, 401, [{ code: "INVALID_CREDENTIALS" }]);
    expect([none.answer.body, names(none.answer)]).toEqual([there.answer.body, names(there.answer)]);
    known.push(there.tookMs);
    unknown.push(none.tookMs);
    // Both wait after five: this is about the time of the work.
    await browser.call("POST", SESSION, { body: { email: "ana@example.com", password: PASSWORD } });
  }
  // Without the same work an answer comes ten times sooner.
  expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...known) / 3);
});
