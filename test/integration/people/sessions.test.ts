import { expect, test } from "bun:test";
import { expectErrors, startHeld, TIMESTAMP, UNKNOWN_ID, UUID_V7 } from "../../support/api/kit.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { type Browser, openBrowser, PASSWORD, signUpOperator } from "../../support/people/browser.ts";

const ME = "/api/v1/auth/me";
const SESSION = "/api/v1/auth/session";
const SESSIONS = "/api/v1/auth/sessions";
const ANA = { email: "ana@example.com", password: PASSWORD };
const NOON = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

async function signIn(pombo: Instance, headers: Record<string, string> = {}): Promise<Browser> {
  const browser = openBrowser(pombo);
  const answer = await browser.call("POST", SESSION, { body: ANA, headers });
  expect(answer.status).toBe(200);
  return browser;
}

const isSignedIn = async (browser: Browser) => (await browser.call("GET", ME)).status === 200;

const countRows = ({ app }: Instance): number =>
  app.db.sqlite.query<{ count: number }, []>("SELECT COUNT(*) AS count FROM session").get()?.count ?? -1;

test("a person sees where they are signed in, and ends one session or all others", async () => {
  await using pombo = await startInstance();
  const first = await signUpOperator(pombo);
  const second = await signIn(pombo, { "user-agent": "Mozilla/5.0 (Telefone)" });
  const third = await signIn(pombo);
  const { body } = await third.call("GET", SESSIONS);
  expect(body.data).toHaveLength(3);
  expect(body.data[1]).toEqual({
    id: expect.stringMatching(UUID_V7),
    method: "password",
    network: "127.0.0.1",
    userAgent: "Mozilla/5.0 (Telefone)",
    createdAt: expect.stringMatching(TIMESTAMP),
    lastSeenAt: expect.stringMatching(TIMESTAMP),
    isCurrent: false,
  });
  expect(body.data.map(({ isCurrent }: Json) => isCurrent)).toEqual([true, false, false]);

  const { id } = body.data[1];
  expect((await third.call("DELETE", `${SESSIONS}/${id}`)).body.data).toEqual({ id, deleted: true });
  expect([await isSignedIn(first), await isSignedIn(second), await isSignedIn(third)]).toEqual([true, false, true]);
  expectErrors(await third.call("DELETE", `${SESSIONS}/${id}`), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await third.call("DELETE", `${SESSIONS}/${UNKNOWN_ID}`), 404, [{ code: "NOT_FOUND" }]);
  expect((await third.call("DELETE", SESSIONS)).body.data).toEqual({ ended: 1 });
  expect([await isSignedIn(first), await isSignedIn(third)]).toEqual([false, true]);
});

test("nobody sees or ends another's session", async () => {
  await using pombo = await startInstance();
  const ana = await signUpOperator(pombo);
  const eva = await signUpOperator(pombo, "eva@example.com");
  const listed = (await eva.call("GET", SESSIONS)).body.data;
  expect(listed).toHaveLength(1);
  expectErrors(await ana.call("DELETE", `${SESSIONS}/${listed[0].id}`), 404, [{ code: "NOT_FOUND" }]);
  await ana.call("DELETE", SESSIONS);
  expect(await isSignedIn(eva)).toBe(true);
});

test("an operator's session ends after twelve hours without use and after seven days; its row is removed", async () => {
  await using held = await startHeld(NOON);
  const { pombo, clock } = held;
  const idle = await signUpOperator(pombo);
  const used = await signIn(pombo);
  clock.advance(12 * HOUR - 1);
  expect(await isSignedIn(used)).toBe(true);
  clock.advance(1);
  expect(await isSignedIn(idle)).toBe(false);
  for (let time = 12 * HOUR; time < 7 * DAY - 12 * HOUR; time += 6 * HOUR) {
    expect([time / HOUR, await isSignedIn(used)]).toEqual([time / HOUR, true]);
    await pombo.app.committer.flush();
    clock.advance(6 * HOUR);
  }
  expect(await isSignedIn(used)).toBe(true);
  clock.advance(12 * HOUR);
  expect(await isSignedIn(used)).toBe(false);
  await held.advance(10 * MINUTE);
  await pombo.app.committer.flush();
  expect(countRows(pombo)).toBe(0);
});

test("a member's session lasts thirty days without use", async () => {
  await using held = await startHeld(NOON);
  const { pombo, clock } = held;
  const member = await signUpOperator(pombo);
  pombo.app.db.sqlite.run("UPDATE user SET is_operator = 0");
  const again = await signIn(pombo);
  clock.advance(30 * DAY - 1);
  expect(await isSignedIn(again)).toBe(true);
  clock.advance(1);
  expect(await isSignedIn(member)).toBe(false);
});

test("that a session was seen is written every ten minutes at most", async () => {
  await using held = await startHeld(NOON);
  const { pombo, clock } = held;
  const browser = await signUpOperator(pombo);
  const seen = () =>
    pombo.app.db.sqlite.query<{ at: number }, []>("SELECT last_seen_at AS at FROM session").get()?.at ?? 0;
  clock.advance(10 * MINUTE - 1);
  await isSignedIn(browser);
  await pombo.app.committer.flush();
  expect(seen()).toBe(NOON);
  clock.advance(1);
  await Promise.all([isSignedIn(browser), isSignedIn(browser)]);
  await pombo.app.committer.flush();
  expect(seen()).toBe(NOON + 10 * MINUTE);
});

test("the fifty-first session of a person ends the oldest", async () => {
  await using pombo = await startInstance();
  const first = await signUpOperator(pombo);
  const second = await signIn(pombo);
  for (let count = 0; count < 49; count++) {
    const { sqlite } = pombo.app.db;
    sqlite.run(
      `INSERT INTO session (uid, hash, user_id, method, created_at, proved_at, last_seen_at)
       SELECT ?1, ?1, user_id, method, created_at, proved_at, last_seen_at FROM session LIMIT 1`,
      [`copy ${count}`],
    );
  }
  const last = await signIn(pombo);
  expect([await isSignedIn(first), await isSignedIn(second), await isSignedIn(last)]).toEqual([false, false, true]);
  expect(countRows(pombo)).toBe(50);
});

test("a sign-in that the disk refuses leaves no session, and sets no cookie", async () => {
  await using pombo = await startInstance();
  await signUpOperator(pombo);
  pombo.app.db.sqlite.run(
    "CREATE TEMP TRIGGER refuse BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the audit cannot be written'); END",
  );
  const browser = openBrowser(pombo);
  const answer = await browser.call("POST", SESSION, { body: ANA });
  expect([answer.status, browser.cookies.size, countRows(pombo)]).toEqual([500, 0, 1]);
});
