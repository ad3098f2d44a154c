// The headers of all that is under /dashboard, whole: a word more in the policy is a hole, a header less is one too.

import { expect, test } from "bun:test";
import { startInstance } from "../../support/fakes/instance.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'";
const COMMON = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
const OWN = {
  ...COMMON,
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": expect.stringMatching(
    /^(?:[a-z-]+=\(\), )+clipboard-write=\(self\), publickey-credentials-create=\(self\), publickey-credentials-get=\(self\)$/,
  ),
};
const MESSAGE_POLICY =
  "sandbox; default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'self'";
const MESSAGE = { ...COMMON, "content-security-policy": MESSAGE_POLICY, "cache-control": "no-store" };
const HSTS = "strict-transport-security";

test("every page, file, refusal and preview of the dashboard has all of its headers", async () => {
  await using pombo = await startInstance({
    configure(config) {
      config.dashboard.url = "https://mail.example.net";
      config.http.trustedProxies = ["127.0.0.1/32"];
    },
  });
  const get = (path: string, headers = {}) => fetch(`${pombo.app.url}${path}`, { headers, redirect: "manual" });
  const shell = await (await get("/dashboard")).text();
  const files = [...shell.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, path = ""]) => path);
  const https = { host: "mail.example.net", "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7" };
  const cases: [path: string, status: number, headers: object, sent?: object][] = [
    ["/dashboard", 200, OWN],
    ["/dashboard/", 200, OWN],
    ["/dashboard/w/x/emails/1", 200, OWN],
    ["/dashboard/no/such/page", 200, OWN],
    ...files.map((file): [string, number, object] => [file, 200, OWN]),
    ["/dashboard/assets/other/main.js", 404, OWN],
    ["/dashboard/preview/x", 404, MESSAGE],
    ["/dashboard", 200, { ...OWN, [HSTS]: "max-age=63072000" }, https],
    ["/dashboard", 421, { ...OWN, "cache-control": "no-store" }, { host: "stranger.example" }],
    ["/dashboard/signin", 403, { ...OWN, "cache-control": "no-store" }, { host: "mail.example.net" }],
  ];
  expect(files).toHaveLength(2);
  for (const [path, status, headers, sent] of cases) {
    const answer = await get(path, sent);
    const found = Object.fromEntries(answer.headers);
    expect([path, answer.status, found]).toMatchObject([path, status, headers]);
    expect([path, HSTS in found]).toEqual([path, HSTS in headers]);
    expect([path, found["access-control-allow-origin"]]).toEqual([path, undefined]);
  }
});

test("what the API answers to a browser is kept nowhere, and no other origin is let in", async () => {
  await using pombo = await startInstance();
  const headers = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
  for (const path of ["/api/v1/auth/me", "/api/v1/workspace", "/api/v1/emails", "/api/v1/auth/keys"]) {
    const answer = await fetch(`${pombo.app.url}${path}`, { headers });
    expect([path, answer.headers.get("cache-control")]).toEqual([path, "no-store"]);
    expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
});
