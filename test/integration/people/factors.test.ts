import { expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { expectErrors, startHeld } from "../../support/api/kit.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { createAuthenticator } from "../../support/people/authenticator.ts";
import { type Browser, openBrowser, PASSWORD, signUpOperator } from "../../support/people/browser.ts";

const ME = "/api/v1/auth/me";
const SESSION = "/api/v1/auth/session";
const TOTP_PATH = "/api/v1/auth/totp";
const PROOF = "/api/v1/auth/proof";
const NOON = Date.UTC(2026, 10, 21, 12);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const WRONG = { code: "INVALID_CREDENTIALS" };
const ANA = { email: "ana@example.com", password: PASSWORD };

const createApp = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) });

/** The browser's person uses an authenticator app from now on. */
async function addApp(browser: Browser, now: number) {
  const { body } = await browser.call("POST", TOTP_PATH);
  const app = createApp(body.data.secret);
  const code = app.generate({ timestamp: now });
  const confirmed = await browser.call("PUT", TOTP_PATH, { body: { code } });
  expect([confirmed.status, confirmed.text]).toEqual([200, expect.any(String)]);
  return { app, code, codes: confirmed.body.data.recoveryCodes as string[] };
}

const listAudit = ({ app }: Instance): string[] =>
  app.db.sqlite
    .query<{ action: string }, []>("SELECT action FROM audit WHERE workspace_id IS NULL ORDER BY id")
    .all()
    .map(({ action }) => action)
    .filter((action) => /^(?:account|session)\./.test(action));

test("an authenticator app is asked for at sign-ins, and each code works once", async () => {
  await using held = await startHeld(NOON);
  const { pombo, clock } = held;
  const browser = await signUpOperator(pombo);
  expectErrors(await browser.call("PUT", TOTP_PATH, { body: { code: "123456" } }), 422, [{ field: "code" }]);
  const { app, code } = await addApp(browser, NOON);
  expect((await browser.call("GET", ME)).body.data).toMatchObject({
    factors: { totp: true, recoveryCodes: 10 },
    session: { method: "password_totp" },
  });

  const signIn = (more: object = {}) => openBrowser(pombo).call("POST", SESSION, { body: { ...ANA, ...more } });
  expectErrors(await signIn(), 401, [{ code: "SECOND_FACTOR_REQUIRED", field: "code" }]);
  // Used up when the app was added.
  expectErrors(await signIn({ code }), 401, [{ ...WRONG, field: "code", message: /used already/ }]);
  clock.advance(30 * SECOND);
  const next = app.generate({ timestamp: clock.now() });
  expectErrors(await signIn({ password: "wrong", code: next }), 401, [WRONG]);
  const signedIn = await signIn({ code: `${next.slice(0, 3)} ${next.slice(3)}` });
  expect([signedIn.status, signedIn.body.data?.session.method]).toEqual([200, "password_totp"]);
  expectErrors(await signIn({ code: next }), 401, [{ ...WRONG, field: "code", message: /used already/ }]);
  expect(listAudit(pombo)).toEqual(["account.created", "session.started", "account.totp_added", "session.started"]);
});

test("a code of another hour says how far the clocks are apart, and is not accepted when its time comes", async () => {
  await using held = await startHeld(NOON);
  const { pombo, clock } = held;
  const browser = await signUpOperator(pombo);
  const { app } = await addApp(browser, NOON);
  const signIn = (code: string) => openBrowser(pombo).call("POST", SESSION, { body: { ...ANA, code } });
  const early = app.generate({ timestamp: NOON + HOUR });
  const late = app.generate({ timestamp: NOON - 20 * MINUTE });
  const told = (message: RegExp) => [{ ...WRONG, field: "code", message }];
  expectErrors(await signIn(early), 401, told(/about 60 minutes ahead of the server's/));
  expectErrors(await signIn(late), 401, told(/about 20 minutes behind the server's/));
  clock.advance(HOUR);
  expectErrors(await signIn(early), 401, told(/used already/));
  clock.advance(30 * SECOND);
  expect((await signIn(app.generate({ timestamp: clock.now() }))).status).toBe(200);
});

test("each recovery code replaces one code; without the app they are gone", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const browser = await signUpOperator(pombo);
  const { codes } = await addApp(browser, NOON);
  const signIn = (code?: string) =>
    openBrowser(pombo).call("POST", SESSION, { body: { ...ANA, ...(code === undefined ? {} : { code }) } });
  const [first = ""] = codes;
  const used = await signIn(first.toUpperCase().replaceAll("-", " "));
  expect(used.body.data).toMatchObject({ session: { method: "recovery_code" }, factors: { recoveryCodes: 9 } });
  expectErrors(await signIn(first), 401, [{ ...WRONG, field: "code" }]);
  const removed = await browser.call("DELETE", TOTP_PATH);
  expect(removed.body.data.factors).toMatchObject({ totp: false, recoveryCodes: 0 });
  expect((await signIn()).status).toBe(200);
});

test("the secret of the app is sealed in the database, recovery codes are hashed, and neither is in the audit", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const browser = await signUpOperator(pombo);
  const { app, codes } = await addApp(browser, NOON);
  const dump = (table: string) =>
    JSON.stringify(pombo.app.db.sqlite.query<Json, []>(`SELECT * FROM ${table}`).all(), (_, value: Json) =>
      value?.type === "Buffer" || value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
    );
  const all = ["user", "recovery_code", "session", "audit", "link"].map(dump).join("\n");
  const [token = ""] = browser.cookies.values();
  for (const secret of [app.secret.base32, app.secret.hex.toLowerCase(), ...codes, token, PASSWORD])
    expect([secret, all.toLowerCase().includes(secret.toLowerCase())]).toEqual([secret, false]);
});

test("changes of the ways to sign in ask for a proof that is not ten minutes old", async () => {
  await using held = await startHeld(NOON);
  const { pombo, clock } = held;
  const browser = await signUpOperator(pombo);
  clock.advance(10 * MINUTE);
  const changes: [string, string, object?][] = [
    ["POST", TOTP_PATH],
    ["PUT", TOTP_PATH, { code: "123456" }],
    ["DELETE", TOTP_PATH],
    ["PUT", "/api/v1/auth/password", { password: "another good password" }],
    ["DELETE", "/api/v1/auth/passkeys/0198a5a0-0000-7000-8000-000000000000"],
  ];
  for (const [method, path, body] of changes)
    expectErrors(await browser.call(method, path, body === undefined ? {} : { body }), 403, [
      { code: "PROOF_REQUIRED" },
    ]);
  expectErrors(await browser.call("POST", PROOF, { body: { password: "wrong" } }), 401, [WRONG]);
  expectErrors(await browser.call("POST", PROOF, { body: {} }), 422, [{ field: "password" }]);
  const proved = await browser.call("POST", PROOF, { body: { password: PASSWORD } });
  expect([proved.status, proved.body.data]).toEqual([200, { provedAt: new Date(clock.now()).toISOString() }]);
  expect((await browser.call("DELETE", TOTP_PATH)).status).toBe(200);

  const { app } = await addApp(browser, clock.now());
  clock.advance(10 * MINUTE);
  expectErrors(await browser.call("POST", PROOF, { body: { password: PASSWORD } }), 401, [
    { code: "SECOND_FACTOR_REQUIRED", field: "code" },
  ]);
  const body = { password: PASSWORD, code: app.generate({ timestamp: clock.now() }) };
  expect((await browser.call("POST", PROOF, { body })).status).toBe(200);
});

test("a new password ends the other sessions and serves at once; with an app twelve characters suffice", async () => {
  await using pombo = await startInstance();
  const browser = await signUpOperator(pombo);
  const other = openBrowser(pombo);
  await other.call("POST", SESSION, { body: ANA });
  const setPassword = (password: string) => browser.call("PUT", "/api/v1/auth/password", { body: { password } });
  expectErrors(await setPassword("twelve chars"), 422, [{ field: "password", message: /15/ }]);
  expect((await setPassword("outra frase bem comprida")).status).toBe(200);
  expectErrors(await other.call("GET", ME), 401, [{ code: "NOT_SIGNED_IN" }]);
  expectErrors(await other.call("POST", SESSION, { body: ANA }), 401, [WRONG]);
  await addApp(browser, Date.now());
  expect((await setPassword("twelve chars")).status).toBe(200);
  expect((await browser.call("GET", ME)).status).toBe(200);
});

const url = "https://mail.pombo.test";

const elsewhere = {
  configure(config: Instance["config"]) {
    config.dashboard.url = url;
    config.http.trustedProxies = ["127.0.0.0/8"];
  },
};

test("where the dashboard is reached from elsewhere, an operator with only a password does nothing as one before adding more", async () => {
  await using held = await startHeld(NOON, elsewhere);
  const { pombo } = held;
  const browser = await signUpOperator(pombo, ANA.email, url);
  expect([...browser.cookies.keys()]).toEqual(["__Host-pombo"]);
  expect(browser.me).toMatchObject({ user: { isOperator: true }, session: { needsSecondFactor: true } });
  const asOperator = () => browser.call("GET", "/api/v1/operator/workspaces", { headers: { "pombo-operator": "1" } });
  expectErrors(await asOperator(), 403, [{ code: "ROLE_REQUIRED" }]);
  await addApp(browser, NOON);
  expect((await browser.call("GET", ME)).body.data.session).toMatchObject({ needsSecondFactor: false });
  expect((await asOperator()).status).toBe(200);
});

test("there the password of an operator who has a passkey changes nothing by itself", async () => {
  await using held = await startHeld(NOON, elsewhere);
  const { pombo } = held;
  const operator = await signUpOperator(pombo, ANA.email, url);
  const getOptions = async (browser: Browser, purpose: string) =>
    (await browser.call("POST", "/api/v1/auth/passkeys/options", { body: { for: purpose } })).body;
  const key = createAuthenticator(url);
  const { challengeId, options } = (await getOptions(operator, "register")).data;
  const passkey = { challengeId, response: key.create(options), name: "Chave" };
  expect((await operator.call("POST", "/api/v1/auth/passkeys", { body: passkey })).status).toBe(201);

  const thief = openBrowser(pombo, url);
  expect((await thief.call("POST", SESSION, { body: ANA })).status).toBe(200);
  expect((await thief.call("POST", PROOF, { body: { password: PASSWORD } })).status).toBe(200);
  expect((await getOptions(thief, "register")).errors).toMatchObject([{ code: "PROOF_REQUIRED" }]);
  const body = { password: "cinco pombos no telhado" };
  for (const [method, path, sent] of [
    ["POST", TOTP_PATH],
    ["PUT", "/api/v1/auth/password", { body }],
  ] as const)
    expectErrors(await thief.call(method, path, sent), 403, [{ code: "PROOF_REQUIRED" }]);

  const asked = (await getOptions(thief, "proof")).data;
  const proof = { challengeId: asked.challengeId, response: key.get(asked.options) };
  expect((await thief.call("POST", PROOF, { body: proof })).status).toBe(200);
  expect((await thief.call("PUT", "/api/v1/auth/password", { body })).status).toBe(200);
});
