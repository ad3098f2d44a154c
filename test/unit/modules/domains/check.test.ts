import { expect, test } from "bun:test";
import { systemClock } from "../../../../src/platform/clock.ts";
import { createResolver } from "../../../../src/protocols/dns/client.ts";
import { checkDomain } from "../../../../src/modules/domains/check.ts";
import { domainRecords } from "../../../../src/modules/domains/records.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { startFakeDns } from "../../../support/fakes/dns-server.ts";
import { createFakeResolver } from "../../../support/fakes/resolver.ts";
import type { Zone } from "../../../support/fakes/resolver.ts";

const RSA = `v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A${"AbC9+/".repeat(60)}QAB`;
const ED25519 = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const domain = "example.com";
const records = domainRecords({
  domain,
  dkim: { rsa: RSA, ed25519: ED25519 },
  bounceHost: "mx.operator.example",
  dmarcRua: null,
});
const rsaName = "pombo1._domainkey.example.com";
const bounceName = "bounce.example.com";
const dmarcName = "_dmarc.example.com";

const complete: Zone = {
  [rsaName]: { TXT: [RSA] },
  "pombo2._domainkey.example.com": { TXT: [ED25519] },
  [bounceName]: { CNAME: "MX.Operator.example." },
  [dmarcName]: { TXT: ["v=DMARC1; p=reject"] },
  "mx.operator.example": { A: ["1.0.0.1"] },
};

function check(zone: Zone, failures: Record<string, string> = {}) {
  return checkDomain({ domain, records, resolver: createFakeResolver(zone, failures) });
}

/** The complete zone with one name changed, or removed. */
function zoneWith(name: string, node: Zone[string] | null): Zone {
  const { [name]: _, ...rest } = complete;
  return node === null ? rest : { ...rest, [name]: node };
}

test("a domain with all its records is found in every part", async () => {
  const result = await check(complete);
  expect(result).toMatchObject({ rsa: "yes", ed25519: "yes", bounce: "yes" });
  expect([...result.dkim, result.spf, result.dmarc].map((record) => record.status)).toEqual([
    "found",
    "found",
    "found",
    "found",
  ]);
  expect(result.spf).toEqual({
    type: "CNAME",
    name: bounceName,
    value: "mx.operator.example",
    status: "found",
    found: ["mx.operator.example"],
  });
});

test("a domain with nothing published is missing in every part, each with what to do", async () => {
  const result = await check({});
  expect(result).toMatchObject({ rsa: "no", ed25519: "no", bounce: "no" });
  for (const record of [...result.dkim, result.spf, result.dmarc]) {
    expect(record).toMatchObject({ status: "missing", found: [] });
    expect(record.hint).toMatch(/Publish this/);
  }
});

test("the keys become active one by one", async () => {
  expect(await check(zoneWith(rsaName, null))).toMatchObject({ rsa: "no", ed25519: "yes" });
  expect(await check(zoneWith("pombo2._domainkey.example.com", null))).toMatchObject({ rsa: "yes", ed25519: "no" });
});

test("a missing DMARC record is told and decides nothing", async () => {
  const result = await check(zoneWith(dmarcName, null));
  expect(result.dmarc.status).toBe("missing");
  expect(result).toMatchObject({ rsa: "yes", ed25519: "yes", bounce: "yes" });
});

test("a key in several strings, behind a CNAME, and in upper-case names is found over a real server", async () => {
  await using server = await startFakeDns({
    [rsaName]: { CNAME: "KEY.Elsewhere.Example." },
    "key.elsewhere.example": { TXT: [[RSA.slice(0, 100), RSA.slice(100, 340), RSA.slice(340)]] },
  });
  const resolver = createResolver({ servers: [server.address], clock: systemClock, random: systemRandom });
  expect(await checkDomain({ domain, records, resolver: resolver.fresh(0) })).toMatchObject({
    rsa: "yes",
    dkim: [{ found: [RSA] }, {}],
  });
});

test("a key in an answer beyond one datagram is found", async () => {
  await using server = await startFakeDns({ [rsaName]: { TXT: [`${RSA}; n=${"x".repeat(3000)}`] } });
  const resolver = createResolver({ servers: [server.address], clock: systemClock, random: systemRandom });
  const result = await checkDomain({ domain, records, resolver });
  expect(result.rsa).toBe("yes");
  expect(result.dkim[0].found[0]).toHaveLength(1000);
  expect(server.queries.some((query) => query.transport === "tcp")).toBe(true);
});

test("SERVFAIL and silence are unknown in every part, which changes no state", async () => {
  for (const fault of ["servfail", "silence"] as const) {
    await using server = await startFakeDns(complete, { "*": fault });
    const resolver = createResolver({
      servers: [server.address],
      clock: systemClock,
      random: systemRandom,
      timeoutMs: 10,
    });
    const result = await checkDomain({ domain, records, resolver });
    expect(result).toMatchObject({ rsa: "unknown", ed25519: "unknown", bounce: "unknown" });
    expect(result.dmarc).toMatchObject({ status: "unknown", found: [] });
    expect(result.dmarc.hint).toMatch(/nothing changes/);
  }
});

test("one failed lookup leaves the other parts known", async () => {
  const result = await check(complete, { [rsaName]: "SERVFAIL" });
  expect(result).toMatchObject({ rsa: "unknown", ed25519: "yes", bounce: "yes" });
});

test("two records at a key's name are a mismatch that shows both (RFC 6376 §3.6.2.2)", async () => {
  const result = await check(zoneWith(rsaName, { TXT: ["v=DKIM1; p=AAAA", RSA] }));
  expect(result.rsa).toBe("no");
  expect(result.dkim[0]).toMatchObject({ status: "mismatch", found: ["v=DKIM1; p=AAAA", RSA] });
});

test("a name that leads elsewhere and ends without a TXT record is a mismatch that shows where it leads", async () => {
  const result = await check({
    ...zoneWith(rsaName, { CNAME: "old.provider.example" }),
    "old.provider.example": { A: ["1.0.0.2"] },
  });
  expect(result.dkim[0]).toMatchObject({ status: "mismatch", found: ["CNAME old.provider.example"] });
});

test("a record whose name was doubled by the DNS provider is missing, and the hint names the slip", async () => {
  const key = await check({ ...zoneWith(rsaName, null), [`${rsaName}.${domain}`]: { TXT: [RSA] } });
  expect(key.dkim[0].status).toBe("missing");
  expect(key.dkim[0].hint).toContain("leave .example.com out of the name");
  const bounce = await check({
    ...zoneWith(bounceName, null),
    [`${bounceName}.${domain}`]: { CNAME: "mx.operator.example" },
  });
  expect(bounce.spf.status).toBe("missing");
  expect(bounce.spf.hint).toContain("leave .example.com out of the name");
});

test("a return path that points elsewhere is a mismatch, also when only the domain was added to its target", async () => {
  const wrong = await check(zoneWith(bounceName, { CNAME: "other.example" }));
  expect(wrong).toMatchObject({ bounce: "no", spf: { status: "mismatch", found: ["other.example"] } });
  expect(wrong.spf.hint).toBe("Point the CNAME to mx.operator.example.");
  const doubled = await check(zoneWith(bounceName, { CNAME: "mx.operator.example.example.com" }));
  expect(doubled.spf.hint).toMatch(/dot at its end/);
});

test("a return path that reaches the bounce host over a name of the owner's is found", async () => {
  const result = await check({
    ...zoneWith(bounceName, { CNAME: "b.example.com" }),
    "b.example.com": { CNAME: "mx.operator.example" },
  });
  expect(result).toMatchObject({ bounce: "yes", spf: { status: "found", found: ["b.example.com"] } });
  const failing = await check(zoneWith(bounceName, { CNAME: "b.example.com" }), { "CNAME b.example.com": "SERVFAIL" });
  expect(failing).toMatchObject({ bounce: "unknown", spf: { status: "unknown" } });
});

test("other records in place of the CNAME are a mismatch that shows them", async () => {
  const result = await check(
    zoneWith(bounceName, {
      MX: [[10, "mx.operator.example"]],
      TXT: ["v=spf1 a:mx.operator.example -all"],
      A: ["1.0.0.1"],
    }),
  );
  expect(result).toMatchObject({
    bounce: "no",
    spf: {
      status: "mismatch",
      found: ["MX 10 mx.operator.example", "TXT v=spf1 a:mx.operator.example -all", "A 1.0.0.1"],
    },
  });
});

test("a right CNAME whose target does not resolve is found, but the return path is not active", async () => {
  const result = await check(zoneWith("mx.operator.example", null));
  expect(result).toMatchObject({ bounce: "no", spf: { status: "found" } });
  expect(result.spf.hint).toMatch(/no address yet/);
  const failing = await check(complete, { [`A ${bounceName}`]: "SERVFAIL" });
  expect(failing).toMatchObject({ bounce: "unknown", spf: { status: "found" } });
});

test("what strangers publish is shown without control characters and within bounds", async () => {
  const many = Array.from({ length: 30 }, (_, index) => `value ${index}\u001b[31m\u202e${"x".repeat(2000)}`);
  const result = await check(zoneWith(dmarcName, { TXT: many }));
  expect(result.dmarc.found).toHaveLength(10);
  expect(result.dmarc.found[0]?.startsWith("value 0[31mxxx")).toBe(true);
  expect(result.dmarc.found[0]).toHaveLength(1000);
});
