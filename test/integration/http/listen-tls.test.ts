// A port with TLS and its certificate's change: who comes after it sees the new one, and who is being answered is answered.

import { expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { connect, type TLSSocket } from "node:tls";
import { Elysia } from "elysia";
import { bind, listen } from "../../../src/platform/http/listen.ts";
import { ServedCertificate } from "../../../src/platform/served-certificate.ts";
import { OTHER_CERTIFICATE, RELAY_CERTIFICATE } from "../../support/fakes/certificates.ts";

setDefaultTimeout(20_000);

const PLACE = { address: "127.0.0.1", port: 0, key: "[tls] listen", portHint: "choose another" };

async function open(port: number, version?: "TLSv1.1" | "TLSv1.2" | "TLSv1.3"): Promise<TLSSocket> {
  const range = version === undefined ? {} : { minVersion: version, maxVersion: version };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...range }, resolve);
  socket.once("error", reject);
  await promise;
  return socket;
}

async function namesShown(port: number): Promise<string | undefined> {
  const socket = await open(port);
  const { subjectAltName } = new X509Certificate(socket.getPeerCertificate().raw);
  socket.destroy();
  return subjectAltName;
}

test("a new certificate is for new connections; a request under way is answered on its own", async () => {
  const certificate = new ServedCertificate(RELAY_CERTIFICATE, false);
  const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
  const { promise: hasCome, resolve: come } = Promise.withResolvers<void>();
  const listener = bind({ ...PLACE, certificate }, async () => {
    come();
    await isHeld;
    return new Response("answered");
  });
  const asked = fetch(listener.url, { tls: { rejectUnauthorized: false } });
  await hasCome;
  certificate.replace(OTHER_CERTIFICATE, false);
  expect(await namesShown(listener.port)).toContain("other.test");
  for (let change = 0; change < 5; change++) {
    certificate.replace(RELAY_CERTIFICATE, false);
    expect(await namesShown(listener.port)).toContain("relay.test");
    certificate.replace(OTHER_CERTIFICATE, false);
  }
  release();
  expect(await (await asked).text()).toBe("answered");
  await listener.stop(1_000);
  // Nothing opens the port again.
  certificate.replace(RELAY_CERTIFICATE, false);
  await expect(open(listener.port)).rejects.toThrow();
});

test("browsers hear of https alone for half a year, once the certificate is one that they trust", async () => {
  const certificate = new ServedCertificate(RELAY_CERTIFICATE, false);
  const api = new Elysia().get("/x", () => "x");
  const listener = listen(api, PLACE, { key: PLACE.key, portHint: "", certificate });
  const ask = async () =>
    (await fetch(`${listener.url}/x`, { tls: { rejectUnauthorized: false } })).headers.get("strict-transport-security");
  expect(await ask()).toBeNull();
  certificate.replace(OTHER_CERTIFICATE, true);
  expect(await ask()).toBe("max-age=15552000");
  certificate.replace(RELAY_CERTIFICATE, false);
  expect(await ask()).toBeNull();
  await listener.stop(0);
});

test("TLS 1.2 and 1.3, and none before", async () => {
  const listener = bind(
    { ...PLACE, certificate: new ServedCertificate(RELAY_CERTIFICATE, false) },
    () => new Response(),
  );
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) (await open(listener.port, version)).destroy();
  await expect(open(listener.port, "TLSv1.1")).rejects.toThrow();
  await listener.stop(0);
});
