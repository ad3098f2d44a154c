import { expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { expectErrors, startHeld } from "../../support/api/kit.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { type Browser, openBrowser, signUpOperator } from "../../support/people/browser.ts";

const MAGIC = "/api/v1/auth/magic";
const USE = "/api/v1/auth/links/use";
const NOON = Date.UTC(2026, 10, 21, 12);

const allowed = {
  configure(config: Instance["config"]) {
    config.dashboard.from = "pombo@mail.pombo.test";
    config.dashboard.magicLinks = true;
  },
};

const ask = (browser: Browser, email = "maria@example.com") => browser.call("POST", MAGIC, { body: { email } });

/** A member, signed in nowhere. */
async function addMember(pombo: Instance, email = "maria@example.com"): Promise<void> {
  await signUpOperator(pombo, email);
  pombo.app.db.sqlite.run("UPDATE user SET is_operator = 0 WHERE email = ?", [email]);
}

const countLinks = ({ app }: Instance): number =>
  app.db.sqlite.query("SELECT kind FROM link WHERE kind = 'magic'").all().length;

/** The token in the newest mail. */
async function readToken(pombo: Instance, count = 1): Promise<string> {
  for (const deadline = Date.now() + 10_000; pombo.mx.messages.length < count && Date.now() < deadline;)
    await new Promise((next) => setImmediate(next));
  const text = pombo.mx.messages.at(-1)?.stuffed.toString() ?? "";
  return /\/dashboard\/link#([A-Za-z0-9_-]{43})/.exec(text.replaceAll("=\r\n", ""))?.[1] ?? text;
}

test("a mailed link signs in the browser that asked, once, and proves the address", async () => {
  await using pombo = await startInstance(allowed);
  await addMember(pombo);
  const browser = openBrowser(pombo);
  const asked = await ask(browser, "Maria@example.com");
  expect([asked.status, asked.body.data]).toEqual([202, { requested: true }]);
  const token = await readToken(pombo);
  const scanner = openBrowser(pombo);
  expectErrors(await scanner.call("POST", USE, { body: { token } }), 410, [{ code: "LINK_USED", message: /browser/ }]);
  const used = await browser.call("POST", USE, { body: { token } });
  expect([used.status, used.body.data]).toEqual([
    200,
    expect.objectContaining({
      user: expect.objectContaining({ email: "maria@example.com", emailVerified: true }),
      session: expect.objectContaining({ method: "link" }),
    }),
  ]);
  expectErrors(await browser.call("POST", USE, { body: { token } }), 410, [{ code: "LINK_USED" }]);
});

test("the answer tells nothing, and nobody gets a link who may not sign in so", async () => {
  await using pombo = await startInstance(allowed);
  await addMember(pombo);
  await signUpOperator(pombo, "ana@example.com");
  const answers = [];
  for (const email of ["nobody@example.com", "ana@example.com", "maria@example.com"]) {
    const { status, body, headers } = await ask(openBrowser(pombo), email);
    answers.push({ status, body, cookie: headers.get("set-cookie")?.replace(/=[^;]*/, "=") });
  }
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  await readToken(pombo);
  expect(pombo.mx.messages.map(({ to }) => to)).toEqual([["maria@example.com"]]);
  expect(countLinks(pombo)).toBe(1);
});

test("five links an hour are mailed to an address, and each works for fifteen minutes", async () => {
  await using held = await startHeld(NOON, allowed);
  const { pombo, clock } = held;
  await addMember(pombo);
  const browser = openBrowser(pombo);
  for (let time = 0; time < 8; time++) expect((await ask(browser)).status).toBe(202);
  await pombo.app.committer.flush();
  expect(countLinks(pombo)).toBe(5);
  const token = await readToken(pombo, 5);
  clock.advance(15 * 60_000);
  expectErrors(await browser.call("POST", USE, { body: { token } }), 410, [{ code: "LINK_USED" }]);
});

test("over https the cookie that binds a link to its browser is one that no other site can set", async () => {
  const origin = "https://mail.pombo.test";
  await using pombo = await startInstance({
    configure(config) {
      allowed.configure(config);
      config.dashboard.url = origin;
      config.http.trustedProxies = ["127.0.0.0/8"];
    },
  });
  await signUpOperator(pombo, "maria@example.com", origin);
  pombo.app.db.sqlite.run("UPDATE user SET is_operator = 0");
  const thief = openBrowser(pombo, origin);
  await ask(thief);
  const token = await readToken(pombo);
  const victim = openBrowser(pombo, origin);
  victim.cookies.set("pombo-link", thief.cookies.get("__Host-pombo-link") ?? "");
  expectErrors(await victim.call("POST", USE, { body: { token } }), 410, [{ code: "LINK_USED" }]);
  expect((await thief.call("POST", USE, { body: { token } })).status).toBe(200);
});

test("the codes of an app are guessed no faster behind a mailed link than behind a password", async () => {
  await using held = await startHeld(NOON, {
    configure(config) {
      allowed.configure(config);
      config.rateLimits.failedAuthPerMinute = 10;
    },
  });
  const { pombo } = held;
  const person = await signUpOperator(pombo, "maria@example.com");
  const { secret } = (await person.call("POST", "/api/v1/auth/totp")).body.data;
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: NOON });
  expect((await person.call("PUT", "/api/v1/auth/totp", { body: { code } })).status).toBe(200);
  pombo.app.db.sqlite.run("UPDATE user SET is_operator = 0");
  const thief = openBrowser(pombo);
  await ask(thief);
  const token = await readToken(pombo);
  const guess = (number: number) => thief.call("POST", USE, { body: { token, code: String(number).padStart(6, "0") } });
  const guesses = await Promise.all(Array.from({ length: 30 }, (_, number) => guess(number)));
  const count = (wanted: number) => guesses.filter(({ status }) => status === wanted).length;
  expect([count(401), count(429)]).toEqual([10, 20]);
});

test("without the operator's consent there are none", async () => {
  await using pombo = await startInstance();
  expectErrors(await ask(openBrowser(pombo)), 404, [{ code: "NOT_FOUND" }]);
});

test("a link that is mailed to a person's address proves it, only while that person is signed in", async () => {
  await using pombo = await startInstance(allowed);
  const ana = await signUpOperator(pombo);
  const eva = await signUpOperator(pombo, "eva@example.com");
  const asked = await ana.call("POST", "/api/v1/auth/email-link");
  expect([asked.status, asked.body.data]).toEqual([202, { requested: true }]);
  const token = await readToken(pombo);
  expect((await ana.call("POST", "/api/v1/auth/links/inspect", { body: { token } })).body.data).toEqual({
    kind: "email",
    email: "ana@example.com",
  });
  for (const browser of [eva, openBrowser(pombo)])
    expectErrors(await browser.call("POST", USE, { body: { token } }), 401, [{ code: "NOT_SIGNED_IN" }]);
  const cookies = new Map(ana.cookies);
  const used = await ana.call("POST", USE, { body: { token } });
  expect([used.status, used.body.data?.user.emailVerified, ana.cookies]).toEqual([200, true, cookies]);
  expectErrors(await ana.call("POST", USE, { body: { token } }), 410, [{ code: "LINK_USED" }]);
  expect((await ana.call("POST", "/api/v1/auth/email-link")).body.data).toEqual({ requested: false });
});
