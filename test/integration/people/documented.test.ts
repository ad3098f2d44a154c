import { expect, test } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { UNKNOWN_ID } from "../../support/api/kit.ts";
import { type Answer, type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { createAuthenticator } from "../../support/people/authenticator.ts";
import { makeSetupLink, openBrowser, PASSWORD } from "../../support/people/browser.ts";
import { documentOf, operationsOf } from "../api/document.ts";
import { isForPeople } from "../api/documented-routes.ts";
import { faultsAgainst } from "../api/json-schema.ts";

const ORIGIN = "http://localhost:8080";
const AUTH = "/api/v1/auth";

const withMail = {
  configure(config: Instance["config"]) {
    config.dashboard.from = "pombo@mail.pombo.test";
    config.dashboard.magicLinks = true;
  },
};

test("every operation of sign-in answers as the document says", async () => {
  await using pombo = await startInstance(withMail);
  const operations = operationsOf(await documentOf(pombo));
  const browser = openBrowser(pombo, ORIGIN);
  const stranger = openBrowser(pombo, ORIGIN);
  const key = createAuthenticator(ORIGIN);
  const seen = new Set<string>();

  const check = (route: string, answer: Answer): Json => {
    const described = operations[route]?.["responses"]?.[answer.status];
    expect([route, answer.status, answer.text, described !== undefined]).toEqual([
      route,
      answer.status,
      answer.text,
      true,
    ]);
    const { schema } = described.content["application/json"];
    expect([route, answer.status, faultsAgainst(schema, answer.body)]).toEqual([route, answer.status, []]);
    if (answer.status < 300) seen.add(route);
    return answer.body.data;
  };
  const call = async (route: string, body?: Json, by = browser, path?: string): Promise<Json> => {
    const [method = "", described = ""] = route.split(" ");
    const full = `${AUTH}${described}`;
    const answer = await by.call(method, path ?? full, body === undefined ? {} : { body });
    return check(`${method} ${full}`, answer);
  };
  const begin = (purpose: string, more: object = {}) => call("POST /passkeys/options", { for: purpose, ...more });

  const token = await makeSetupLink(pombo);
  await call("POST /links/inspect", { token });
  await call("POST /links/inspect", { token: "x" });
  await call("POST /links/use", { token, email: "ana@example.com", name: "Ana", password: "short" });
  await call("POST /links/use", { token, email: "ana@example.com", name: "Ana", password: PASSWORD });
  await call("POST /links/use", { token, email: "ana@example.com", name: "Ana", password: PASSWORD });
  await call("GET /me");
  await call("GET /me", undefined, stranger);
  await call("PATCH /me", { name: "Ana M.", language: "pt-PT" });
  await call("PATCH /me", {});
  await call("POST /email-link");
  await call("POST /magic", { email: "ana@example.com" }, stranger);

  const registration = await begin("register");
  const made = { challengeId: registration.challengeId, response: key.create(registration.options), name: "Chave" };
  const passkey = await call("POST /passkeys", made);
  await call("POST /passkeys", made);
  await call("GET /passkeys");
  const proof = await begin("proof");
  await call("POST /proof", { challengeId: proof.challengeId, response: key.get(proof.options) });
  await call("POST /proof", { password: "wrong" });
  await call("POST /proof", {});

  const { secret } = await call("POST /totp");
  const app = new TOTP({ secret: Secret.fromBase32(secret) });
  await call("PUT /totp", { code: "no code" });
  await call("PUT /totp", { code: app.generate() });
  await call("POST /session", { email: "ana@example.com", password: PASSWORD }, stranger);
  await call("POST /session", { email: "ana@example.com", password: "wrong" }, stranger);
  await call("POST /session", { email: "", password: "" }, stranger);
  await call("DELETE /totp");
  await call("PUT /password", { password: "outra frase bem comprida" });
  await call("PUT /password", { password: "short" });
  await call("POST /session", { email: "ana@example.com", password: "outra frase bem comprida" }, stranger);
  const sessions = await call("GET /sessions");
  const other = sessions.find(({ isCurrent }: Json) => isCurrent === false);
  await call("DELETE /sessions/{id}", undefined, browser, `${AUTH}/sessions/${other.id}`);
  await call("DELETE /sessions/{id}", undefined, browser, `${AUTH}/sessions/${UNKNOWN_ID}`);
  await call("DELETE /sessions/{id}", undefined, browser, `${AUTH}/sessions/x`);
  await call("DELETE /sessions");

  await call("DELETE /session");
  const signIn = await begin("sign_in");
  const answer = { challengeId: signIn.challengeId, response: key.get(signIn.options) };
  await call("POST /session/passkey", answer);
  await call("POST /session/passkey", answer, stranger);
  await call("DELETE /passkeys/{id}", undefined, browser, `${AUTH}/passkeys/${passkey.id}`);
  await call("DELETE /passkeys/{id}", undefined, browser, `${AUTH}/passkeys/${passkey.id}`);

  const all = Object.keys(operations).filter((route) => route.includes(` ${AUTH}/`) && isForPeople(route));
  expect(all.filter((route) => !seen.has(route))).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});
