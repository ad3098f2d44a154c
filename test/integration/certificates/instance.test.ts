// An instance with a certificate in two files: the API and the dashboard over its own TLS port, as from another machine.

import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RELAY_CERTIFICATE } from "../../support/fakes/certificates.ts";
import { freePort } from "../../support/peers/process.ts";
import { type Instance, startInstance, useAbsentAuthority } from "../../support/fakes/instance.ts";

setDefaultTimeout(60_000);

const NAME = "relay.test";

function startSecure(): Promise<Instance> {
  return startInstance({
    configure(config) {
      const [certificateFile, keyFile] = [join(config.dataDir, "..", "c.pem"), join(config.dataDir, "..", "k.pem")];
      writeFileSync(certificateFile, RELAY_CERTIFICATE.cert);
      writeFileSync(keyFile, RELAY_CERTIFICATE.key);
      Object.assign(config.tls, { listen: [{ address: "127.0.0.1", port: 0 }], certificateFile, keyFile });
      config.dashboard.url = `https://${NAME}`;
    },
  });
}

function ask(pombo: Instance, path: string, headers: Record<string, string> = {}): Promise<Response> {
  const init = { headers: { host: NAME, ...headers }, tls: { rejectUnauthorized: false }, redirect: "manual" as const };
  return fetch(`${pombo.app.tlsUrls[0]}${path}`, init);
}

test("the API answers over TLS with a key, and the dashboard's pages without a proxy that says https", async () => {
  await using pombo = await startSecure();
  expect(pombo.app.tlsUrls).toEqual([expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/)]);
  expect((await ask(pombo, "/api/v1/emails", { "x-api-key": pombo.workspace.key })).status).toBe(200);
  const page = await ask(pombo, "/dashboard");
  expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
  // Under another name than its own, and by plain http, it is still refused.
  expect((await ask(pombo, "/dashboard", { host: "evil.example" })).status).toBe(421);
  const plain = await fetch(`${pombo.app.url}/dashboard`, { headers: { host: NAME } });
  expect(plain.status).toBe(403);
  expect(pombo.bugs).toEqual([]);
});

test("two thousand knocks at the challenge's port are answered, and the API beside them", async () => {
  const port = await freePort();
  await using pombo = await startInstance({
    configure({ tls }) {
      useAbsentAuthority({ tls });
      tls.challengeListen = [{ address: "127.0.0.1", port }];
    },
  });
  const knock = async (nth: number) => {
    const path = `/.well-known/acme-challenge/${nth % 2 === 0 ? `token${nth}` : "..%2f..%2fpombo.db"}`;
    return (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  };
  const startedAt = performance.now();
  const knocks = Array.from({ length: 2_000 }, (_, nth) => knock(nth));
  const read = await pombo.workspace.call("GET", "/api/v1/emails");
  expect(read.status).toBe(200);
  expect(new Set(await Promise.all(knocks))).toEqual(new Set([404]));
  // A thousand a second, on a machine that does other things as well.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(pombo.bugs).toEqual([]);
});

test("the operator sees whose certificate it is, and that files are renewed by whoever writes them", async () => {
  await using pombo = await startSecure();
  const { status, body } = await pombo.operator.call("GET", "/api/v1/operator/tls");
  expect([status, body.data]).toEqual([
    200,
    expect.objectContaining({ source: "files", directory: null, renewsAt: null, failure: null, isRenewing: false }),
  ]);
  expect(body.data.certificate).toMatchObject({ names: [NAME], issuer: "Test authority", isSelfMade: false });
  expect((await pombo.operator.call("POST", "/api/v1/operator/tls/renew")).status).toBe(404);
  expect((await pombo.workspace.call("GET", "/api/v1/operator/tls")).status).toBe(403);
});
