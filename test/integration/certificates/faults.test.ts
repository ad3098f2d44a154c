// What an authority may do wrong, and what becomes of it: the certificate before stays, the operator is told in the
// authority's words what failed and what to do, and the next attempt waits.

import { expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { Elysia } from "elysia";
import { markAsOperator } from "../../../src/platform/http/auth.ts";
import { errorsPlugin } from "../../../src/platform/http/errors.ts";
import { type Fault, refuse, type Step } from "../../support/fakes/authority.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { HOUR_MS, type Kit, NAME, startKit } from "../../support/certificates/kit.ts";

setDefaultTimeout(60_000);

const reasonOf = (kit: Kit) => kit.certificates.issues()[0]?.reason ?? "";
const failureOf = (kit: Kit) => kit.events.findLast(({ name }) => name === "tls.failed")?.fields;
const servedBy = (kit: Kit) => new X509Certificate(kit.certificates.source.pair.cert);

const HUGE = "x".repeat(5 * 1024 ** 2);

test.each<[string, Step, Fault, string, string]>([
  ["a directory that is no JSON", "directory", () => new Response("<html>"), "badAnswer", "is no ACME directory"],
  [
    "a directory that redirects",
    "directory",
    () => Response.redirect("https://other.test/"),
    "badAnswer",
    "not followed",
  ],
  ["a directory of 5 MB", "directory", () => new Response(HUGE), "badAnswer", "more than 256 KiB"],
  [
    "a directory that leads to http",
    "directory",
    () => Response.json({ newNonce: "http://127.0.0.1/", newAccount: "", newOrder: "" }),
    "badAnswer",
    "is missing or is not https",
  ],
  [
    "nonces that are all refused",
    "newAccount",
    () => refuse("badNonce", "bad", 400),
    "badNonce",
    "refuses its own nonces",
  ],
  [
    "a binding to a customer that is missing",
    "newAccount",
    () => refuse("externalAccountRequired", "who are you?"),
    "externalAccountRequired",
    "[tls] eab_key_id",
  ],
  [
    "terms that changed",
    "newOrder",
    () => refuse("userActionRequired", "agree"),
    "userActionRequired",
    "a person to act",
  ],
  [
    "a name that it does not like",
    "newOrder",
    () => refuse("rejectedIdentifier", "no such luck", 400),
    "rejectedIdentifier",
    "take another name",
  ],
  ["a finalize that is refused", "finalize", () => refuse("badCSR", "weak key", 400), "badCSR", "weak key"],
  [
    "a certificate that is none",
    "certificate",
    () => new Response("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
    "badCertificate",
    "is no certificate",
  ],
  ["an answer that is cut off", "order", () => new Response(null, { status: 500 }), "badAnswer", "answers 500"],
])("%s", async (...[, step, fault, type, words]) => {
  await using kit = await startKit({ isHeld: true });
  kit.authority.faults[step] = fault;
  await kit.certificates.start();
  await kit.ended(1);
  expect(failureOf(kit)?.["type"]).toBe(type);
  expect(reasonOf(kit)).toContain(words);
  expect(reasonOf(kit)).toContain("a self-made one is shown");
  expect([kit.bugs, kit.counted]).toEqual([[], ["failed"]]);
  // Nothing is asked for an hour, and then all is well.
  const before = kit.authority.steps.length;
  await kit.advance(HOUR_MS - 60_000);
  expect(kit.authority.steps.length).toBe(before);
  kit.authority.faults = {};
  await kit.advance(60_000);
  await kit.ended(2);
  expect(servedBy(kit).checkHost(NAME)).toBe(NAME);
  expect(kit.certificates.issues()).toEqual([]);
  expect(kit.authority.accounts.size).toBe(1);
});

test.each<[string, (kit: Kit) => string, string]>([
  ["of another key", (kit) => issueTo(kit, {}), "it is for another key"],
])("a certificate %s is not served", async (_, issue, words) => {
  await using kit = await startKit({ isHeld: true });
  kit.authority.faults.certificate = () => new Response(issue(kit));
  await kit.certificates.start();
  await kit.ended(1);
  expect(failureOf(kit)?.["detail"]).toContain(words);
});

function issueTo(kit: Kit, { names = [NAME] }: { names?: string[] }): string {
  const now = kit.clock.now();
  const key = new X509Certificate(kit.certificates.source.pair.cert).publicKey;
  const publicKey = key.export({ type: "spki", format: "der" });
  return kit.authority.issuer.issue({ names, publicKey, from: now, until: now + HOUR_MS });
}

test("a certificate without one of the names, or that has ended, is not served", async () => {
  await using kit = await startKit({ isHeld: true, tls: { names: [NAME, "api.pombo.test"] } });
  const { authority } = kit;
  const issue = authority.issuer.issue;
  authority.issuer.issue = (wish) => issue({ ...wish, names: [NAME] });
  await kit.certificates.start();
  await kit.ended(1);
  expect(failureOf(kit)?.["detail"]).toContain("it is not for api.pombo.test");
  authority.issuer.issue = (wish) => issue({ ...wish, from: wish.from - 48 * HOUR_MS, until: wish.from - HOUR_MS });
  await kit.advance(HOUR_MS);
  await kit.ended(2);
  expect(failureOf(kit)?.["detail"]).toContain("this machine's clock says");
  expect(kit.bugs).toEqual([]);
});

test("an authority that adds a name of its own is not asked again", async () => {
  await using kit = await startKit({ isHeld: true });
  const { authority } = kit;
  const issue = authority.issuer.issue;
  authority.issuer.issue = (wish) => issue({ ...wish, names: [...wish.names, `www.${NAME}`] });
  await kit.certificates.start();
  await kit.ended(1);
  await kit.advance(5 * HOUR_MS);
  expect(authority.orders).toHaveLength(1);
  expect(failureOf(kit)).toBeUndefined();
});

test("of two names of which one fails neither is had, and the certificate before stays", async () => {
  await using kit = await startKit();
  await kit.ended(1);
  const before = servedBy(kit).fingerprint256;
  kit.authority.faults.authorization = () =>
    Response.json({
      status: "invalid",
      identifier: { type: "dns", value: "api.pombo.test" },
      challenges: [
        {
          type: "http-01",
          token: "t",
          url: kit.authority.directory,
          error: { type: "urn:ietf:params:acme:error:dns", detail: "NXDOMAIN looking up A for api.pombo.test" },
        },
      ],
    });
  await kit.restart({ names: [NAME, "api.pombo.test"] });
  await kit.ended(2);
  expect(servedBy(kit).fingerprint256).toBe(before);
  expect(reasonOf(kit)).toContain("NXDOMAIN looking up A for api.pombo.test");
  expect(reasonOf(kit)).toContain("Publish an A or AAAA record of api.pombo.test");
  expect(reasonOf(kit)).toContain("api.pombo.test has no address in DNS.");
  expect(reasonOf(kit)).not.toContain("self-made");
});

test("certificates without a line between them are read and served as they should be", async () => {
  await using kit = await startKit({ isHeld: true });
  const { authority } = kit;
  const issue = authority.issuer.issue;
  authority.issuer.issue = (wish) => `${issue(wish).trim()}${authority.issuer.root}`;
  await kit.certificates.start();
  await kit.ended(1);
  expect(kit.certificates.source.pair.cert.match(/^-----BEGIN CERTIFICATE-----$/gm)).toHaveLength(2);
});

test("an order that stays processing is given up after ten minutes", async () => {
  await using kit = await startKit({ isHeld: true });
  kit.authority.faults.finalize = () => undefined;
  kit.authority.faults.order = () =>
    Response.json({ status: "processing", finalize: kit.authority.directory, authorizations: [] });
  await kit.certificates.start();
  await waitUntil("its end", 15_000, () => {
    kit.clock.advance(15_000);
    return failureOf(kit) !== undefined;
  });
  expect(failureOf(kit)).toMatchObject({ type: "tooSlow" });
  expect(reasonOf(kit)).toContain('still "processing" after 10 minutes');
});

test("an authority that asks for a longer wait gets it, and failures wait ever longer, up to a day", async () => {
  await using kit = await startKit({ isHeld: true });
  const { authority, clock } = kit;
  authority.faults.newOrder = () => refuse("rateLimited", "too many certificates", 429, { "retry-after": "7200" });
  await kit.certificates.start();
  await kit.ended(1);
  const waitOf = () => Math.round((Date.parse(String(failureOf(kit)?.["retryAt"])) - clock.now()) / HOUR_MS);
  const waits = [waitOf()];
  expect(reasonOf(kit)).toContain("too many certificates");
  for (let count = 2; count <= 7; count++) {
    await kit.advance((waits.at(-1) ?? 0) * HOUR_MS);
    await kit.ended(count);
    waits.push(waitOf());
  }
  expect(waits).toEqual([2, 2, 4, 8, 16, 24, 24]);
});

test("an operator may ask at once, yet not so often that the authority refuses for an hour", async () => {
  await using kit = await startKit({ isHeld: true });
  const { authority, certificates } = kit;
  authority.faults.newOrder = () => refuse("serverInternal", "oops", 500);
  await certificates.start();
  for (let count = 1; count <= 4; count++) {
    await kit.ended(count);
    await kit.advance(1);
    if (count < 4) expect((await renew(kit)).status).toBe(202);
  }
  const refused = await renew(kit);
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(3_600);
  authority.faults = {};
  kit.clock.advance(HOUR_MS);
  expect((await renew(kit)).status).toBe(202);
  await kit.ended(5);
  expect(kit.counted).toEqual(["failed", "failed", "failed", "failed", "issued"]);
});

/** As the operator's socket has it. */
function renew(kit: Kit): Promise<Response> {
  const log = { event: () => undefined, error: () => undefined };
  const app = new Elysia().onRequest(({ request }) => markAsOperator(request)).use(errorsPlugin(log, () => []));
  for (const routes of kit.certificates.operatorRoutes()) app.use(routes);
  return app.handle(new Request("http://localhost/api/v1/operator/tls/renew", { method: "POST" }));
}
