// What we write is read by OpenSSL, and by the runtime.

import { expect, test } from "bun:test";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { createCertificateRequest } from "../../../../src/protocols/x509/certificate-request.ts";
import { findFault, isPublic, readChain, readNames, readRenewalId } from "../../../../src/protocols/x509/chain.ts";
import { createSelfSigned } from "../../../../src/protocols/x509/self-signed.ts";
import { createIssuer } from "../../../support/fakes/issuer.ts";

const NAMES = ["mail.example.net", "xn--bcher-kva.example", `${"a".repeat(63)}.example`];

function openssl(args: string[], input: Uint8Array | string): string {
  const folder = mkdtempSync(join(tmpdir(), "pombo-x509-"));
  const file = join(folder, "in");
  writeFileSync(file, input);
  try {
    const { stdout, stderr } = Bun.spawnSync(["openssl", ...args, "-in", file], { stderr: "pipe" });
    return stdout.toString() + stderr.toString();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test.skipIf(Bun.which("openssl") === null)("OpenSSL reads a request, its names and its signature", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const many = Array.from({ length: 100 }, (_, index) => `n${index}.example.net`);
  for (const names of [NAMES, many]) {
    const said = openssl(
      ["req", "-inform", "DER", "-verify", "-noout", "-text"],
      createCertificateRequest(names, privateKey),
    );
    expect(said).toContain("verify OK");
    for (const name of names) expect(said).toContain(`DNS:${name}`);
  }
});

test("a self-made certificate is for all its names", () => {
  const { cert, key } = createSelfSigned(NAMES, { now: Date.now(), serial: new Uint8Array(16) });
  const chain = readChain(cert);
  expect(chain.flatMap(readNames)).toEqual(NAMES);
  expect(findFault(chain, { names: NAMES, key, now: Date.now() })).toBeNull();
  expect(isPublic(chain)).toBe(false);
  expect(chain.map(readRenewalId)).toEqual([null]);
});

test("a chain is public where it leads to a root that browsers have", () => {
  const [root = ""] = rootCertificates;
  expect(isPublic(readChain(root))).toBe(true);
  const now = Date.now();
  const issuer = createIssuer(now);
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const wish = {
    names: NAMES,
    publicKey: publicKey.export({ type: "spki", format: "der" }),
    from: now,
    until: now + 1e6,
  };
  const chain = readChain(issuer.issue(wish));
  expect(isPublic(chain)).toBe(false);
  expect(isPublic(chain, [issuer.root])).toBe(true);
  // One that only has the root's name.
  expect(isPublic(chain, [createIssuer(now).root])).toBe(false);
});

/** The example of RFC 9773 §4.1 has this authority key and serial number; another certificate of ours has the same form. */
test("a renewal id is the authority's key identifier and the serial number, as they are encoded", () => {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  const pem = createIssuer(Date.now()).issue({
    names: NAMES,
    publicKey: spki,
    from: Date.now(),
    until: Date.now() + 1e6,
  });
  const certificate = new X509Certificate(pem);
  const [keyId, serial] = (readRenewalId(certificate) ?? "").split(".");
  expect(Buffer.from(keyId ?? "", "base64url").toString()).toBe("issuer of the tests");
  expect(
    Buffer.from(serial ?? "", "base64url")
      .toString("hex")
      .toUpperCase(),
  ).toBe(certificate.serialNumber.padStart(32, "0"));
});
