import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { expectErrors, startHeld } from "../../support/api/kit.ts";
import { type Answer, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { openBrowser, PASSWORD, signUpOperator } from "../../support/people/browser.ts";
import { addPerson } from "../../support/people/member.ts";

// Each guess that is checked takes argon2id its time.
setDefaultTimeout(60_000);

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
  const guess = (number: number) => tryFrom(pombo, `10.${number >> 8}.${number & 255}.1`, "wrong");
  for (let number = 0; number < 20; number++) {
    await guess(number);
    clock.advance(30_000);
  }
  for (let number = 20; number < 1_000; number += 49)
    await Promise.all(Array.from({ length: 49 }, (_, index) => guess(number + index)));
  expectErrors(await guess(1_000), 429, [{ code: "RATE_LIMITED" }]);
  // Where the person is signed in already nothing waits; elsewhere it is half a minute at most.
  expect((await tryFrom(pombo, "198.51.100.1", PASSWORD)).status).toBe(200);
  for (let number = 2_000; number < 2_010; number++) await guess(number);
  const waiting = await tryFrom(pombo, "198.51.100.77", PASSWORD);
  if (waiting.status !== 200) {
    expect(Number(waiting.headers.get("retry-after"))).toBeLessThanOrEqual(30);
    clock.advance(Number(waiting.headers.get("retry-after")) * 1_000);
    expect((await tryFrom(pombo, "198.51.100.77", PASSWORD)).status).toBe(200);
  }
});

test("an address without account is answered as a wrong password is, and costs the same work", async () => {
  await using pombo = await startInstance();
  await signUpOperator(pombo);
  // Somebody who has only a passkey.
  const { email: withoutPassword } = addPerson(pombo, { role: "viewer" });
  const browser = openBrowser(pombo);
  const names = (answer: Answer) => [...answer.headers.keys()].toSorted();
  using hash = spyOn(Bun.password, "hash");
  using verify = spyOn(Bun.password, "verify");
  const tryOnce = async (email: string) => {
    verify.mockClear();
    const answer = await browser.call("POST", SESSION, { body: { email, password: "wrong password" } });
    // What each run of argon2id costs.
    const work = verify.mock.calls.map(([, against]) => (against as string).split("$").slice(1, 4).join());
    return { answer, work };
  };
  // The first one after a start, whoever it is about, makes what unknown accounts are compared with.
  const there = await tryOnce("ana@example.com");
  expectErrors(there.answer, 401, [{ code: "INVALID_CREDENTIALS" }]);
  expect([there.work, hash.mock.calls.length]).toEqual([["argon2id,v=19,m=19456,t=2,p=1"], 1]);
  for (const email of ["nobody@example.com", withoutPassword, "ana@example.com"]) {
    const { answer, work } = await tryOnce(email);
    expect([email, answer.status, answer.body, names(answer)]).toEqual([
      email,
      401,
      there.answer.body,
      names(there.answer),
    ]);
    expect([email, work]).toEqual([email, there.work]);
  }
  expect(hash.mock.calls.length).toBe(1);
});
