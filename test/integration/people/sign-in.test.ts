import { expect, test } from "bun:test";
import { expectErrors, TIMESTAMP, UUID_V7 } from "../../support/api/kit.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { makeSetupLink, openBrowser, PASSWORD, signUpOperator } from "../../support/people/browser.ts";

const ME = "/api/v1/auth/me";
const SESSION = "/api/v1/auth/session";
const USE = "/api/v1/auth/links/use";

test("a setup link makes the first operator and signs them in, once", async () => {
  await using pombo = await startInstance();
  const browser = openBrowser(pombo);
  const token = await makeSetupLink(pombo);
  const seen = await browser.call("POST", "/api/v1/auth/links/inspect", { body: { token } });
  expect([seen.status, seen.body.data]).toEqual([200, { kind: "setup", email: null }]);
  expectErrors(await browser.call("GET", ME), 401, [{ code: "NOT_SIGNED_IN" }]);

  const body = { token, email: "Ana@Example.com", name: "Ana", password: PASSWORD };
  const used = await browser.call("POST", USE, { body });
  expect(used.status).toBe(200);
  expect(used.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^pombo-session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/),
  ]);
  const me = await browser.call("GET", ME);
  expect(me.body.data).toEqual({
    user: {
      id: expect.stringMatching(UUID_V7),
      email: "ana@example.com",
      name: "Ana",
      isOperator: true,
      emailVerified: false,
      language: null,
    },
    session: {
      id: expect.stringMatching(UUID_V7),
      method: "password",
      createdAt: expect.stringMatching(TIMESTAMP),
      provedAt: expect.stringMatching(TIMESTAMP),
      needsSecondFactor: false,
    },
    factors: { password: true, totp: false, passkeys: 0, recoveryCodes: 0 },
    workspaces: [],
    instance: {
      version: expect.any(String),
      dashboardUrl: null,
      isSandbox: false,
      canMail: false,
      magicLinks: false,
      submission: null,
    },
  });
  expect(used.body).toEqual(me.body);

  const stranger = openBrowser(pombo);
  for (const path of ["/api/v1/auth/links/inspect", USE])
    expectErrors(await stranger.call("POST", path, { body: { ...(path === USE ? body : {}), token } }), 410, [
      { code: "LINK_USED" },
    ]);
});

test("a person signs out and in again; a wrong password and an unknown address are answered alike", async () => {
  await using pombo = await startInstance();
  const browser = await signUpOperator(pombo);
  const before = new Map(browser.cookies);
  const out = await browser.call("DELETE", SESSION);
  expect([out.status, out.body.data, browser.cookies.size]).toEqual([200, { signedOut: true }, 0]);
  for (const [name, value] of before) browser.cookies.set(name, value);
  expectErrors(await browser.call("GET", ME), 401, [{ code: "NOT_SIGNED_IN" }]);

  const wrong = await browser.call("POST", SESSION, { body: { email: "ana@example.com", password: "wrong" } });
  const unknown = await browser.call("POST", SESSION, { body: { email: "eva@example.com", password: "wrong" } });
  expectErrors(wrong, 401, [{ code: "INVALID_CREDENTIALS" }]);
  expect(unknown.body).toEqual(wrong.body);

  const right = await browser.call("POST", SESSION, { body: { email: " ANA@example.com", password: PASSWORD } });
  expect(right.status).toBe(200);
  expect(right.body.data.user).toEqual(browser.me.user);
  expect((await browser.call("GET", ME)).status).toBe(200);
});

test("a sign-in ends the session that the browser had, and never takes on its token", async () => {
  await using pombo = await startInstance();
  const browser = await signUpOperator(pombo);
  const [old = ""] = browser.cookies.values();
  await browser.call("POST", SESSION, { body: { email: "ana@example.com", password: PASSWORD } });
  const [now] = browser.cookies.values();
  expect(now).not.toBe(old);
  const thief = openBrowser(pombo);
  thief.cookies.set("pombo-session", old);
  expectErrors(await thief.call("GET", ME), 401, [{ code: "NOT_SIGNED_IN" }]);
});

test("a link whose use cannot be written makes nobody, and can be used again", async () => {
  await using pombo = await startInstance();
  const { sqlite } = pombo.app.db;
  const browser = openBrowser(pombo);
  const body = { token: await makeSetupLink(pombo), email: "ana@example.com", name: "Ana", password: PASSWORD };
  // The last of what a sign-in writes.
  sqlite.run(
    "CREATE TEMP TRIGGER refuse BEFORE INSERT ON audit WHEN NEW.action = 'session.started' BEGIN SELECT RAISE(ABORT, 'refused'); END",
  );
  const failed = await browser.call("POST", USE, { body });
  const count = (table: string) => sqlite.query(`SELECT 1 FROM ${table}`).all().length;
  expect([failed.status, browser.cookies.size, count("user"), count("session")]).toEqual([500, 0, 0, 0]);
  sqlite.run("DROP TRIGGER refuse");
  expect((await browser.call("POST", USE, { body })).status).toBe(200);
  expect([count("user"), count("session")]).toEqual([1, 1]);
});

test("failed sign-ins are logged with the network, and without the address or password", async () => {
  await using pombo = await startInstance();
  await openBrowser(pombo).call("POST", SESSION, { body: { email: "ana@example.com", password: "guess" } });
  expect(pombo.events.filter(({ name }) => name === "sign_in.failed")).toEqual([
    { name: "sign_in.failed", fields: { network: "127.0.0.1" } },
  ]);
});

test("a new password is as long as one that stands by itself must be, and not the address or a name", async () => {
  await using pombo = await startInstance();
  const browser = openBrowser(pombo);
  const token = await makeSetupLink(pombo);
  const use = (password: string) =>
    browser.call("POST", USE, { body: { token, email: "ana.macuacua@example.com", name: "Ana Macuácua", password } });
  expectErrors(await use("14 characters!"), 422, [{ field: "password", message: /15/ }]);
  expectErrors(await use("ana.macuacua@example.com"), 422, [{ field: "password", message: /address/ }]);
  expectErrors(await use("Ana Macuácua 123"), 422, [{ field: "password", message: /name/ }]);
  expectErrors(await use("mail.pombo.test1"), 422, [{ field: "password", message: /server/ }]);
  expectErrors(await browser.call("POST", USE, { body: { token } }), 422, [{ field: "email" }, { field: "name" }]);
  expect((await use(PASSWORD)).status).toBe(200);
});

test("the name and language of a person change", async () => {
  await using pombo = await startInstance();
  const browser = await signUpOperator(pombo);
  const changed = await browser.call("PATCH", ME, { body: { name: "Ana M.", language: "pt-PT" } });
  expect(changed.body.data.user).toMatchObject({ name: "Ana M.", language: "pt-PT" });
  expect((await browser.call("PATCH", ME, { body: { language: null } })).body.data.user).toMatchObject({
    name: "Ana M.",
    language: null,
  });
  expectErrors(await browser.call("PATCH", ME, { body: { language: "fr" } }), 422, [{ field: "language" }]);
});
