// GET /domains/{id}, and what a check says of each record.
import { expect, test } from "bun:test";
import type { DnsFault } from "../../support/fakes/dns-server.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import type { ZoneNode } from "../../support/fakes/zone.ts";
import { expectErrors, TIMESTAMP, UNKNOWN_ID } from "../../support/api/kit.ts";

const DOMAINS = "/api/v1/domains";

async function register(pombo: Instance, domain: string): Promise<Json> {
  return (await pombo.workspace.call("POST", DOMAINS, { body: { domain } })).body.data;
}

const show = async (pombo: Instance, id: string): Promise<Json> =>
  (await pombo.workspace.call("GET", `${DOMAINS}/${id}`)).body.data;

const check = async (pombo: Instance, id: string): Promise<Json> =>
  (await pombo.workspace.call("POST", `${DOMAINS}/${id}/verification-checks`)).body.data;

/** The records by the names that the interface gives them. */
function byName(dns: Json): Record<string, Json> {
  return { rsa: dns.dkim[0], ed25519: dns.dkim[1], spf: dns.spf, dmarc: dns.dmarc };
}

test("a domain that was never checked shows its records to publish, and when they are looked for", async () => {
  await using pombo = await startInstance();
  const created = await register(pombo, "one.test");
  const { body, status } = await pombo.workspace.call("GET", `${DOMAINS}/${created.id.toUpperCase()}`);
  expect([status, body]).toEqual([
    200,
    {
      data: {
        id: created.id,
        domain: "one.test",
        status: "pending",
        createdAt: created.createdAt,
        verifiedAt: null,
        lastCheckedAt: null,
        nextCheckAt: new Date(Date.parse(created.createdAt) + 60_000).toISOString(),
        sharedUntil: null,
        dns: created.dns,
        hint: expect.stringContaining("Publish these records"),
      },
    },
  ]);
});

test("a check says found, missing or mismatch of each record and shows what is there, and GET shows the same", async () => {
  await using pombo = await startInstance();
  const { id, dns } = await register(pombo, "one.test");
  const right = byName(dns);
  const txt = (...values: string[]): ZoneNode => ({ TXT: values });
  const key = (record: string): [string, ZoneNode | DnsFault | null, string | null, string[]][] => [
    [record, txt(right[record].value), "found", [right[record].value]],
    [record, null, "missing", []],
    [record, txt("v=DKIM1; p=AAAA"), "mismatch", ["v=DKIM1; p=AAAA"]],
    [record, txt("hello"), "mismatch", ["hello"]],
    [record, { CNAME: "keys.other.test" }, "mismatch", ["CNAME keys.other.test"]],
    [record, txt(right[record].value, "v=DKIM1; p=AAAA"), "mismatch", [right[record].value, "v=DKIM1; p=AAAA"]],
    [record, "servfail", null, []],
    [record, "refused", null, []],
  ];
  const table: [string, ZoneNode | DnsFault | null, string | null, string[]][] = [
    ...key("rsa"),
    ...key("ed25519"),
    ["spf", { CNAME: right["spf"].value }, "found", [right["spf"].value]],
    ["spf", null, "missing", []],
    ["spf", { CNAME: "bounce.other.test" }, "mismatch", ["bounce.other.test"]],
    ["spf", { A: ["192.0.2.7"] }, "mismatch", ["A 192.0.2.7"]],
    ["spf", txt("v=spf1 -all"), "mismatch", ["TXT v=spf1 -all"]],
    ["spf", "servfail", null, []],
    ["dmarc", txt("v=DMARC1; p=reject"), "found", ["v=DMARC1; p=reject"]],
    ["dmarc", null, "missing", []],
    ["dmarc", txt("p=none"), "mismatch", ["p=none"]],
    ["dmarc", txt("v=DMARC1; p=none", "v=DMARC1; p=reject"), "mismatch", ["v=DMARC1; p=none", "v=DMARC1; p=reject"]],
    ["dmarc", "servfail", null, []],
  ];
  for (const [record, there, status, found] of table) {
    const { type, name, value } = right[record];
    delete pombo.dns.zone[name];
    pombo.dns.faults = typeof there === "string" ? { [name]: there } : {};
    if (there !== null && typeof there !== "string") pombo.dns.zone[name] = there;
    const checked = await check(pombo, id);
    const seen = byName(checked.dns)[record];
    const said = [record, there, seen.status ?? null, (seen.found as string[]).toSorted()];
    expect(said).toEqual([record, there, status, found.toSorted()]);
    expect(seen).toMatchObject({ type, name, value });
    expect([record, there, typeof seen.hint]).toEqual([record, there, status === "found" ? "undefined" : "string"]);
    // Nothing of the others is known to be otherwise.
    for (const other of Object.values(byName(checked.dns))) {
      if (pombo.dns.faults[other.name] === undefined) expect(other).toHaveProperty("status");
      expect(Array.isArray(other.found)).toBe(true);
    }
    const shown = await show(pombo, id);
    expect(shown.dns).toEqual(checked.dns);
    expect(shown.hint).toBe(checked.hint);
    expect(shown.lastCheckedAt).toMatch(TIMESTAMP);
    delete pombo.dns.zone[name];
  }
});

test("the status that GET shows follows the checks, with a hint that says what to do", async () => {
  await using pombo = await startInstance();
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const verified = await show(pombo, id);
  expect(verified).toMatchObject({ status: "verified", verifiedAt: expect.stringMatching(TIMESTAMP) });
  expect(verified).not.toHaveProperty("hint");
  const { dmarc, dkim } = verified.dns;
  delete pombo.dns.zone[dmarc.name];
  expect(await check(pombo, id)).toMatchObject({ hint: expect.stringContaining(`recommended: ${dmarc.name}`) });
  delete pombo.dns.zone[dkim[0].name];
  const warned = await check(pombo, id);
  expect(warned.hint).toMatch(/pombo1\._domainkey\.one\.test no longer holds its key. Publish it again before /);
  expect(warned).not.toHaveProperty("status");
  expect(await show(pombo, id)).toMatchObject({ status: "warning", hint: warned.hint });
});

test("what the last check saw of a record that is another by now is not shown", async () => {
  await using pombo = await startInstance();
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  expect((await show(pombo, id)).dns.spf.status).toBe("found");
  // Read at the start: the operator has given returned mail another host.
  pombo.config.email.bounceHost = "returns.pombo.test";
  await pombo.restart();
  const { dns, status } = await show(pombo, id);
  expect(dns.spf).toEqual({ type: "CNAME", name: "bounce.one.test", value: "returns.pombo.test" });
  expect([status, dns.dkim[0].status]).toEqual(["verified", "found"]);
});

test("an unknown id is 404, a malformed one 422, and a key restricted to the domain 403", async () => {
  await using pombo = await startInstance();
  expectErrors(await pombo.workspace.call("GET", `${DOMAINS}/${UNKNOWN_ID}`), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await pombo.workspace.call("GET", `${DOMAINS}/x`), 422, [{ field: "id" }]);
  const { id } = await register(pombo, "one.test");
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop", domainId: id } });
  const key = made.body.data.key;
  expectErrors(await pombo.workspace.call("GET", `${DOMAINS}/${id}`, { key }), 403, [{ code: "API_KEY_RESTRICTED" }]);
});
