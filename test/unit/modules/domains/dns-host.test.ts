// Whose name servers a zone has, where they may be asked, and the mistakes that owners make with their records.

import { expect, test } from "bun:test";
import { checkDomain } from "../../../../src/modules/domains/check.ts";
import { nameAtHost, recognizeHost } from "../../../../src/modules/domains/dns-host/hosts.ts";
import { findAuthoritative, findZoneCut } from "../../../../src/modules/domains/dns-host/zone-cut.ts";
import { domainRecords } from "../../../../src/modules/domains/records.ts";
import { createFakeResolver, type Zone } from "../../../support/fakes/resolver.ts";

const HOSTS: [server: string, id: string][] = [
  ["ana.ns.cloudflare.com", "cloudflare"],
  ["ns-1012.awsdns-62.co.uk", "route53"],
  ["ns-cloud-a1.googledomains.com", "google"],
  ["ns01.domaincontrol.com", "godaddy"],
  ["dns1.registrar-servers.com", "namecheap"],
  ["dns200.anycast.me", "ovh"],
  ["ns12.ovh.net", "ovh"],
  ["helium.ns.hetzner.de", "hetzner"],
  ["ns2.digitalocean.com", "digitalocean"],
  ["ns-24-a.gandi.net", "gandi"],
  ["ns1045.ui-dns.biz", "ionos"],
  ["ns1.dns-parking.com", "hostinger"],
  ["a.auto.dns.br", "registro-br"],
  ["ns1-05.azure-dns.com", "azure"],
  ["ns1.vercel-dns.com", "vercel"],
  ["dns1.p04.nsone.net", "netlify"],
  ["maceio.ns.porkbun.com", "porkbun"],
  ["ns3.linode.com", "linode"],
  ["ns4.wixdns.net", "wix"],
  ["ns1.ptisp.pt", "ptisp"],
  ["ns1.dominios.pt", "dominios-pt"],
  ["ns2.amenworld.com", "amen"],
];

test.each(HOSTS)("%s is a name server of %s", (server, id) => {
  expect(recognizeHost([server])).toMatchObject({ id });
});

test("a host is named only where all name servers are its own", () => {
  expect(recognizeHost([])).toBeNull();
  expect(recognizeHost(["ns1.example.com"])).toBeNull();
  expect(recognizeHost(["evil-ns.cloudflare.com.example"])).toBeNull();
  expect(recognizeHost(["ana.ns.cloudflare.com", "ns-24-a.gandi.net"])).toBeNull();
});

test("a name is written as the host's field takes it", () => {
  const name = "pombo1._domainkey.news.example.com";
  expect(nameAtHost(name, "example.com", recognizeHost(["ana.ns.cloudflare.com"]))).toBe("pombo1._domainkey.news");
  expect(nameAtHost(name, "example.com", recognizeHost(["ns1.ptisp.pt"]))).toBe(name);
  expect(nameAtHost(name, "example.com", null)).toBe("pombo1._domainkey.news");
  expect(nameAtHost(name, null, null)).toBe(name);
});

test("the zone of a domain is the nearest name with name servers of its own", async () => {
  const zone: Zone = { "example.com": { NS: ["ns2.example.net", "ns1.example.net"] }, "news.example.com": {} };
  const cut = { name: "example.com", nameServers: ["ns1.example.net", "ns2.example.net"] };
  expect(await findZoneCut("news.example.com", createFakeResolver(zone))).toEqual(cut);
  const deeper: Zone = { ...zone, "news.example.com": { NS: ["ns.news.example"] } };
  expect(await findZoneCut("news.example.com", createFakeResolver(deeper))).toMatchObject({ name: "news.example.com" });
  // The name servers behind an alias are those of another zone.
  const alias: Zone = {
    ...zone,
    "news.example.com": { CNAME: "host.example" },
    "host.example": { NS: ["ns.host.example"] },
  };
  expect(await findZoneCut("news.example.com", createFakeResolver(alias))).toEqual(cut);
  expect(await findZoneCut("news.example.com", createFakeResolver({}))).toBeNull();
  expect(await findZoneCut("a.example.com", createFakeResolver(zone, { "NS a.example.com": "SERVFAIL" }))).toBeNull();
});

test("name servers on private addresses are not asked, but for our own resolver at its port", async () => {
  const nameServers = ["a.example", "b.example", "c.example", "d.example", "e.example"];
  const resolver = createFakeResolver({
    "a.example": { A: ["10.0.0.7"] },
    "b.example": { A: ["169.254.169.254"] },
    "c.example": { A: ["127.0.0.1"] },
    "d.example": { AAAA: ["2600::1"] },
    "e.example": { A: ["1.0.0.1"] },
  });
  const cut = { name: "example.com", nameServers };
  expect(await findAuthoritative(cut, resolver, [])).toEqual(["[2600::1]:53", "1.0.0.1:53"]);
  expect(await findAuthoritative(cut, resolver, ["127.0.0.1:5300"])).toEqual(["127.0.0.1:5300", "[2600::1]:53"]);
});

const RSA = `v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A${"AbC9+/".repeat(60)}QAB`;
const ED25519 = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const domain = "news.example.com";
const records = domainRecords({
  domain,
  dkim: { rsa: RSA, ed25519: ED25519 },
  bounceHost: "mx.operator.example",
  dmarcRua: null,
});
const key = `pombo1._domainkey.${domain}`;
const bounce = `bounce.${domain}`;

type Mistaken = [what: string, zone: Zone, record: "dkim" | "spf", seen: { mistake: string; foundAt?: string }];
const MISTAKES: Mistaken[] = [
  [
    "the domain doubled",
    { [`${key}.${domain}`]: { TXT: [RSA] } },
    "dkim",
    { mistake: "zone_doubled", foundAt: `${key}.${domain}` },
  ],
  [
    "the zone doubled",
    { [`${key}.example.com`]: { TXT: [RSA] } },
    "dkim",
    { mistake: "zone_doubled", foundAt: `${key}.example.com` },
  ],
  [
    "a doubled CNAME",
    { [`${bounce}.example.com`]: { CNAME: "mx.operator.example" } },
    "spf",
    { mistake: "zone_doubled" },
  ],
  ["a doubled target", { [bounce]: { CNAME: `mx.operator.example.${domain}` } }, "spf", { mistake: "zone_doubled" }],
  ["quotes", { [key]: { TXT: [`"${RSA}"`] } }, "dkim", { mistake: "quotes" }],
  ["a cut key", { [key]: { TXT: [RSA.slice(0, 255)] } }, "dkim", { mistake: "cut" }],
  ["a key in two records", { [key]: { TXT: [RSA.slice(255), RSA.slice(0, 255)] } }, "dkim", { mistake: "split" }],
  ["addresses of a proxy", { [bounce]: { A: ["1.0.0.1"] } }, "spf", { mistake: "proxied" }],
  [
    "the domain above",
    { "pombo1._domainkey.example.com": { TXT: [RSA] } },
    "dkim",
    { mistake: "wrong_level", foundAt: "pombo1._domainkey.example.com" },
  ],
  [
    "the domain itself",
    { [domain]: { TXT: ["v=spf1 -all", RSA] } },
    "dkim",
    { mistake: "wrong_level", foundAt: domain },
  ],
  ["no _domainkey", { [`pombo1.${domain}`]: { TXT: [RSA] } }, "dkim", { mistake: "wrong_level" }],
  ["another key", { [key]: { TXT: [ED25519] } }, "dkim", { mistake: "other_value" }],
  ["two keys", { [key]: { TXT: [RSA, ED25519] } }, "dkim", { mistake: "several" }],
];

test.each(MISTAKES)("%s is recognised", async (_what, zone, record, seen) => {
  const check = await checkDomain({ domain, records, resolver: createFakeResolver(zone) });
  expect(record === "dkim" ? check.dkim[0] : check.spf).toMatchObject(seen);
});

test("a policy of the domain above is no mistake, and what is right or missing has none", async () => {
  const zone: Zone = { "_dmarc.example.com": { TXT: ["v=DMARC1; p=reject"] }, [key]: { TXT: [RSA] } };
  const check = await checkDomain({ domain, records, resolver: createFakeResolver(zone) });
  expect(check.dkim[0]).toMatchObject({ status: "found" });
  expect([check.dkim[0], check.dmarc, check.spf].map(({ mistake }) => mistake)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(check.dmarc.status).toBe("missing");
});
