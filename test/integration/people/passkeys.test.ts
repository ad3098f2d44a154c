import { expect, test } from "bun:test";
import { expectErrors, TIMESTAMP, UUID_V7 } from "../../support/api/kit.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { cborArray, cborBytes, cborMap, createAuthenticator } from "../../support/people/authenticator.ts";
import { type Browser, makeSetupLink, openBrowser, signUpOperator } from "../../support/people/browser.ts";

const OPTIONS = "/api/v1/auth/passkeys/options";
const PASSKEYS = "/api/v1/auth/passkeys";
const SIGN_IN = "/api/v1/auth/session/passkey";
const ORIGIN = "http://localhost:8080";

/** A browser that has opened http://localhost:8080, with an authenticator. */
function openWithAuthenticator(pombo: Instance) {
  const browser = openBrowser(pombo, ORIGIN);
  return { browser, key: createAuthenticator(ORIGIN) };
}

async function getOptions(browser: Browser, asked: Json): Promise<{ challengeId: string; options: Json }> {
  const { status, text, body } = await browser.call("POST", OPTIONS, { body: asked });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return body.data;
}

async function setUp(pombo: Instance) {
  const { browser, key } = openWithAuthenticator(pombo);
  const token = await makeSetupLink(pombo);
  const { challengeId, options } = await getOptions(browser, { for: "link", token, email: "ana@example.com" });
  const passkey = { challengeId, response: key.create(options), name: "Telefone" };
  const body = { token, email: "ana@example.com", name: "Ana", passkey };
  const used = await browser.call("POST", "/api/v1/auth/links/use", { body });
  expect([used.status, used.text]).toEqual([200, expect.any(String)]);
  return { browser, key, options, me: used.body.data };
}

test("a setup link is used with a passkey, which then signs in without an address", async () => {
  await using pombo = await startInstance();
  const { browser, key, options, me } = await setUp(pombo);
  expect(options).toMatchObject({
    rp: { id: "localhost", name: "pombo" },
    user: { name: "ana@example.com" },
    attestation: "none",
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  expect(me).toMatchObject({ session: { method: "passkey" }, factors: { password: false, passkeys: 1 } });

  await browser.call("DELETE", "/api/v1/auth/session");
  const asked = await getOptions(browser, { for: "sign_in" });
  expect(asked.options).toMatchObject({ rpId: "localhost", userVerification: "preferred" });
  expect(asked.options.allowCredentials ?? []).toEqual([]);
  const body = { challengeId: asked.challengeId, response: key.get(asked.options) };
  const signedIn = await browser.call("POST", SIGN_IN, { body });
  expect([signedIn.status, signedIn.body.data?.user]).toEqual([200, me.user]);
  const listed = await browser.call("GET", PASSKEYS);
  const times = { createdAt: expect.stringMatching(TIMESTAMP), lastUsedAt: expect.stringMatching(TIMESTAMP) };
  expect(listed.body.data).toEqual([{ id: expect.stringMatching(UUID_V7), name: "Telefone", ...times }]);

  // The challenge was used up, also for the passkey that signed it.
  expectErrors(await browser.call("POST", SIGN_IN, { body }), 401, [{ code: "INVALID_CREDENTIALS" }]);
});

test("nothing but a fresh signature for this place and this purpose signs in", async () => {
  await using pombo = await startInstance();
  const { browser, key } = await setUp(pombo);
  const signInWith = async (answer: (options: Json) => Json, asked: Json = { for: "sign_in" }) => {
    const { challengeId, options } = await getOptions(browser, asked);
    return browser.call("POST", SIGN_IN, { body: { challengeId, response: answer(options) } });
  };
  const other = createAuthenticator(ORIGIN);
  const forged = (options: Json) => {
    const { id, rawId } = key.get(options);
    return { ...other.get(options), id, rawId };
  };
  const refused: ((options: Json) => Json)[] = [
    (options) => other.get(options),
    forged,
    (options) => key.get(options, { challenge: "AAAA" }),
    (options) => key.get(options, { origin: "http://evil.example" }),
    (options) => key.get({ ...options, rpId: "evil.example" }),
    // An operator's must ask for a PIN, finger or face.
    (options) => key.get(options, { isVerified: false }),
    // Its counter went back: a copy.
    (options) => key.get(options, { counter: 1 }),
    () => ({ id: "x", response: {} }),
    () => ({ id: key.get({ rpId: "localhost", challenge: "x" }).id, response: { clientDataJSON: 7 } }),
  ];
  for (const [index, answer] of refused.entries()) {
    const answered = await signInWith(answer);
    expect([index, answered.status, answered.body.errors[0].code]).toEqual([index, 401, "INVALID_CREDENTIALS"]);
  }
  // Given out for a proof, not for a sign-in.
  expectErrors(await signInWith((options) => key.get(options), { for: "proof" }), 401, [
    { code: "INVALID_CREDENTIALS" },
  ]);
  expect((await signInWith((options) => key.get(options))).status).toBe(200);
  expect(pombo.bugs).toEqual([]);
});

test("passkeys are added with a proof and removed, but not the last way to sign in", async () => {
  await using pombo = await startInstance();
  const { browser, key } = await setUp(pombo);
  const [first] = (await browser.call("GET", PASSKEYS)).body.data;
  expectErrors(await browser.call("DELETE", `${PASSKEYS}/${first.id}`), 409, [{ code: "LAST_FACTOR" }]);

  const { challengeId, options } = await getOptions(browser, { for: "register" });
  expect(options.excludeCredentials.map(({ id }: Json) => id)).toEqual([
    key.get({ rpId: "localhost", challenge: "x" }).id,
  ]);
  const second = createAuthenticator(ORIGIN);
  const response = second.create(options);
  const added = await browser.call("POST", PASSKEYS, { body: { challengeId, response, name: "Chave" } });
  expect([added.status, added.body.data]).toEqual([201, expect.objectContaining({ name: "Chave", lastUsedAt: null })]);
  expect((await browser.call("DELETE", `${PASSKEYS}/${first.id}`)).body.data).toEqual({ id: first.id, deleted: true });
  expect((await browser.call("GET", PASSKEYS)).body.data).toEqual([added.body.data]);
  expectErrors(await browser.call("DELETE", `${PASSKEYS}/${first.id}`), 404, [{ code: "NOT_FOUND" }]);

  const asked = await getOptions(browser, { for: "sign_in" });
  const gone = { challengeId: asked.challengeId, response: key.get(asked.options) };
  expectErrors(await browser.call("POST", SIGN_IN, { body: gone }), 401, [{ code: "INVALID_CREDENTIALS" }]);
});

test("a registration is refused that answers another challenge, or names certificates, whose lists would be called", async () => {
  await using pombo = await startInstance();
  const { browser } = await setUp(pombo);
  const register = async (answer: (options: Json) => Json) => {
    const { challengeId, options } = await getOptions(browser, { for: "register" });
    return browser.call("POST", PASSKEYS, { body: { challengeId, response: answer(options), name: "x" } });
  };
  const x5c = cborMap(["x5c", cborArray(cborBytes(Buffer.of(1)))]);
  const fresh = () => createAuthenticator(ORIGIN);
  for (const answer of [
    (options: Json) => fresh().create(options, { challenge: "AAAA" }),
    (options: Json) => fresh().create(options, { origin: "http://evil.example" }),
    (options: Json) => fresh().create(options, { isVerified: false }),
    (options: Json) => fresh().create(options, { fmt: "packed", attStmt: x5c }),
    (options: Json) => fresh().create(options, { fmt: "apple", attStmt: x5c }),
    () => ({ id: "x", response: {} }),
  ])
    expectErrors(await register(answer), 422, [{ field: "response" }]);
  expect((await register((options) => fresh().create(options))).status).toBe(201);
});

test("a place without a name has no passkeys, and a stranger begins no registration", async () => {
  await using pombo = await startInstance();
  const byAddress = openBrowser(pombo, "http://127.0.0.1:8080");
  expectErrors(await byAddress.call("POST", OPTIONS, { body: { for: "sign_in" } }), 422, [{ field: "for" }]);
  const stranger = openBrowser(pombo, ORIGIN);
  for (const purpose of ["register", "proof"])
    expectErrors(await stranger.call("POST", OPTIONS, { body: { for: purpose } }), 401, [{ code: "NOT_SIGNED_IN" }]);
  expectErrors(await stranger.call("POST", OPTIONS, { body: { for: "link" } }), 422, [{ field: "token" }]);
  expectErrors(await stranger.call("POST", OPTIONS, { body: { for: "link", token: "x" } }), 410, [
    { code: "LINK_USED" },
  ]);
});

test("another person's passkey proves nothing", async () => {
  await using pombo = await startInstance();
  const { key } = await setUp(pombo);
  const other = await signUpOperator(pombo, "eva@example.com", ORIGIN);
  const { challengeId, options } = await getOptions(other, { for: "proof" });
  const body = { challengeId, response: key.get(options) };
  const answer = await other.call("POST", "/api/v1/auth/proof", { body });
  expectErrors(answer, 401, [{ code: "NOT_SIGNED_IN" }]);
});
