// Where a domain's DNS is kept and what is there; the zone file; the link for whoever owns the DNS; live while somebody looks.

import { expect, setDefaultTimeout, test } from "bun:test";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { addPerson } from "../../support/people/member.ts";
import { openBrowser } from "../../support/people/browser.ts";

setDefaultTimeout(60_000);

const NS = ["ana.ns.cloudflare.com", "rui.ns.cloudflare.com"];

/** The domain's zone at Cloudflare, whose name servers are the fake DNS. */
function delegate({ dns }: Instance, domain: string): void {
  dns.zone[domain] = { NS, SOA: 840, ttlS: 3600 };
  for (const name of NS) dns.zone[name] = { A: ["127.0.0.1"] };
}

async function register({ workspace }: Instance, domain: string): Promise<Json> {
  return (await workspace.call("POST", "/api/v1/domains", { body: { domain } })).body.data;
}

const list = ({ dns }: Json): Json[] => [...dns.dkim, dns.spf, dns.dmarc];

test("the zone's own servers are asked beside the world, and the host is recognised", async () => {
  await using pombo = await startInstance();
  delegate(pombo, "novo.test");
  const created = await register(pombo, "novo.test");
  await pombo.workspace.call("POST", `/api/v1/domains/${created.id}/verification-checks`);
  const [rsa] = list(created);
  pombo.dns.zone[rsa.name] = { TXT: [rsa.value] };
  const { status, body } = await pombo.workspace.call("GET", `/api/v1/domains/${created.id}/dns-host`);
  expect(status).toBe(200);
  expect(body.data).toMatchObject({ zone: "novo.test", nameServers: NS, negativeTtl: 840, host: { id: "cloudflare" } });
  expect(body.data.records.map((each: Json) => [each.nameAtHost, each.published, each.status])).toEqual([
    ["pombo1._domainkey", "found", "missing"],
    ["pombo2._domainkey", "missing", "missing"],
    ["bounce", "missing", "missing"],
    ["_dmarc", "missing", "missing"],
  ]);
  // For some seconds the same is shown again.
  const asked = pombo.dns.queries.length;
  await pombo.workspace.call("GET", `/api/v1/domains/${created.id}/dns-host`);
  expect(pombo.dns.queries).toHaveLength(asked);
});

test("a domain whose DNS does not tell has records without a host", async () => {
  await using pombo = await startInstance();
  const { id } = await register(pombo, "novo.test");
  const { body } = await pombo.workspace.call("GET", `/api/v1/domains/${id}/dns-host`);
  expect(body.data).toMatchObject({ zone: null, nameServers: [], host: null, negativeTtl: null });
  expect(body.data.records).toHaveLength(4);
  expect(body.data.records[0]).not.toHaveProperty("published");
});

test("the zone file holds what is not published yet", async () => {
  await using pombo = await startInstance();
  const created = await register(pombo, "novo.test");
  const answer = await pombo.workspace.call("GET", `/api/v1/domains/${created.id}/zone`);
  expect(answer.headers.get("content-type")).toBe("text/dns; charset=utf-8");
  expect(answer.headers.get("content-disposition")).toContain("novo.test.zone");
  const lines = answer.text.trimEnd().split("\n");
  expect(lines).toHaveLength(5);
  const [first = ""] = lines.slice(1);
  const strings = [...first.matchAll(/"([^"]*)"/g)].map(([, text = ""]) => text);
  expect(Math.max(...strings.map(({ length }) => length))).toBeLessThanOrEqual(255);
  expect(strings.join("")).toBe(list(created)[0].value);
});

test("a link shows the records without an account, until it is replaced, withdrawn, too old or the domain gone", async () => {
  await using pombo = await startInstance();
  const { id } = await register(pombo, "novo.test");
  const path = `/api/v1/domains/${id}/share`;
  const share = async () => {
    const { status, body } = await pombo.workspace.call("POST", path);
    expect(status).toBe(201);
    expect(body.data.url).toMatch(/\/dashboard\/dns#[\w-]{43}$/);
    return new URL(body.data.url).hash.slice(1);
  };
  const stranger = openBrowser(pombo);
  const open = (token: string) => stranger.call("GET", "/api/v1/dns-share", { headers: { "pombo-share": token } });
  const first = await share();
  const shown = await open(first);
  expect(shown.status).toBe(200);
  expect(Object.keys(shown.body.data).toSorted()).toEqual(["dnsHost", "domain", "sharedUntil", "status"]);
  expect((await pombo.workspace.call("GET", `/api/v1/domains/${id}`)).body.data.sharedUntil).toBe(
    shown.body.data.sharedUntil,
  );
  expect(JSON.stringify(pombo.app.db.sqlite.query("SELECT * FROM domain_share").all())).not.toContain(first);

  const second = await share();
  expect((await open(first)).status).toBe(410);
  expect((await open(second)).status).toBe(200);
  expect((await open("")).status).toBe(410);
  expect((await pombo.workspace.call("DELETE", path)).body.data).toEqual({ id, shared: false });
  expect((await open(second)).status).toBe(410);
  expect((await pombo.workspace.call("GET", `/api/v1/domains/${id}`)).body.data.sharedUntil).toBeNull();

  const third = await share();
  pombo.app.db.sqlite.run("UPDATE domain_share SET expires_at = 1");
  expect((await open(third)).status).toBe(410);
  const fourth = await share();
  await pombo.workspace.call("DELETE", `/api/v1/domains/${id}`);
  expect((await open(fourth)).status).toBe(410);
  expect(pombo.app.db.sqlite.query("SELECT COUNT(*) AS count FROM domain_share").get()).toEqual({ count: 0 });
  const owner = addPerson(pombo, { role: "owner" });
  const audit = (await owner.act("GET", "/api/v1/workspace/audit")).body.data.map(({ action }: Json) => action);
  expect(audit.filter((action: string) => action.startsWith("domain.share"))).toEqual([
    "domain.shared",
    "domain.shared",
    "domain.share_ended",
    "domain.shared",
    "domain.shared",
  ]);
  expect(pombo.bugs).toEqual([]);
});
