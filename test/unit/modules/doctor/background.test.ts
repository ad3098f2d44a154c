// The doctor in the background: each hour, at most 200 questions, the domains in turn and those with troubles always.
import { expect, test } from "bun:test";
import { defaultConfig } from "../../../../src/config/config.ts";
import { createDoctor } from "../../../../src/modules/doctor/index.ts";
import type { DomainStore } from "../../../../src/modules/domains/store.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { parseServer } from "../../../../src/protocols/dns/servers.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { startFakeDns } from "../../../support/fakes/dns-server.ts";
import { NO_MAIL, NO_STORES, NOTHING_SENT, noCommit } from "../../../support/doctor/no-mail.ts";
import { createFakeResolver } from "../../../support/fakes/resolver.ts";

const HOUR_MS = 3_600_000;
const COUNT = 50;

function fakeDomains(count: number, publicKey = "AAAA"): { store: DomainStore; names: Set<string> } {
  const rows = Array.from({ length: count }, (_, at) => ({
    id: count - at,
    uid: `d${count - at}`,
    name: `d${count - at}.example`,
    status: "verified",
    verifiedAt: 0,
  }));
  const names = new Set(rows.map(({ name }) => name));
  const present = () => rows.filter(({ name }) => names.has(name));
  const store = {
    listEverywhere: (_: null, before: { id: number } | null, limit: number) =>
      present()
        .filter(({ id }) => before === null || id < before.id)
        .slice(0, limit + 1),
    verified: (name: string) => present().find((row) => row.name === name),
    listKeys: () => [
      { selector: "pombo1", algorithm: "rsa-sha256", publicKey },
      { selector: "pombo2", algorithm: "ed25519-sha256", publicKey: "BBBB" },
    ],
  };
  return { store: store as unknown as DomainStore, names };
}

async function startDoctor(everyMs: number, publicKey?: string) {
  const dns = await startFakeDns();
  const resolver = createFakeResolver();
  const clock = fakeClock();
  const config = defaultConfig({ hostname: "mail.pombo.test", dataDir: "/var/lib/pombo" });
  Object.assign(config.doctor, { everyMs, probes: [], timeServer: null });
  config.email.sourceIpv4 = "127.0.0.1";
  config.inbound.listen = null;
  const domains = fakeDomains(COUNT, publicKey);
  const errors: unknown[] = [];
  const doctor = createDoctor(
    {
      clock,
      steady: systemClock,
      random: systemRandom,
      commit: noCommit,
      log: { event: () => undefined, error: (_, error) => void errors.push(error) },
    },
    { domains: domains.store, ...NOTHING_SENT, ...NO_STORES },
    config,
    { fresh: () => resolver, servers: () => [parseServer(dns.address)], ...NO_MAIL },
  );
  return {
    doctor,
    clock,
    resolver,
    domains,
    errors,
    async [Symbol.asyncDispose]() {
      await doctor.stop();
      await dns.close();
    },
  };
}

test("each run asks at most 200 questions, and in some hours all domains were looked at", async () => {
  await using world = await startDoctor(HOUR_MS);
  const { doctor, clock, resolver } = world;
  // All records are there but for one domain's.
  for (const name of world.domains.names) {
    if (name === "d33.example") continue;
    resolver.zone[`pombo1._domainkey.${name}`] = { TXT: ["v=DKIM1; k=rsa; p=AAAA"] };
    resolver.zone[`pombo2._domainkey.${name}`] = { TXT: ["v=DKIM1; k=ed25519; p=BBBB"] };
    resolver.zone[`_dmarc.${name}`] = { TXT: [`v=DMARC1; p=reject; rua=mailto:d@${name}`] };
    resolver.zone[`bounce.${name}`] = { CNAME: "mail.pombo.test" };
    resolver.zone[name] = { A: ["203.0.113.1"] };
  }
  const began: string[] = [];
  const ended: string[] = [];
  doctor.onChange((worse, better) => {
    began.push(...worse.map(({ id, subject }) => `${id} ${subject}`));
    ended.push(...better.map(({ id, subject }) => `${id} ${subject}`));
  });
  await doctor.start();
  for (let hour = 0; hour < 8; hour++) {
    resolver.lookups.length = 0;
    clock.advance(1.2 * HOUR_MS);
    await doctor.idle();
    expect(new Set(resolver.lookups).size).toBeLessThanOrEqual(200);
    // What has a trouble is looked at each time once it is known.
    if (began.includes("dkim d33.example")) expect(resolver.lookups.join()).toContain("_dmarc.d33.example");
  }
  const looked = new Set(doctor.findings().flatMap(({ id, subject }) => (id === "dkim" ? (subject ?? []) : [])));
  expect(looked.size).toBe(COUNT);
  expect(began.filter((one) => one.startsWith("dkim"))).toEqual(["dkim d33.example"]);
  world.domains.names.delete("d33.example");
  clock.advance(1.2 * HOUR_MS);
  await doctor.idle();
  expect(ended).toContain("dkim d33.example");
  expect(doctor.findings().some(({ subject }) => subject === "d33.example")).toBe(false);
  expect(world.errors).toEqual([]);
});

test("with every = 0s it runs only when asked, and a domain that nobody sends with is not looked at", async () => {
  await using world = await startDoctor(0);
  await world.doctor.start();
  expect(world.clock.pending).toBe(0);
  world.clock.advance(24 * HOUR_MS);
  await world.doctor.idle();
  expect(world.resolver.lookups).toEqual([]);
  expect(await world.doctor.examine({ domain: "nobody.example", only: null, rdap: false })).toBeNull();
  const found = await world.doctor.examine({ domain: "d7.example", only: ["dkim"], rdap: false });
  expect(found?.findings.map(({ id, subject }) => `${id} ${subject}`)).toEqual(["dkim d7.example"]);
  expect(world.resolver.lookups.filter((each) => /\bd(?!7\.)\d+\.example/.test(each))).toEqual([]);
});

test("a look at one domain does not end what another's record has shown", async () => {
  const key = "MIIBIjANBgkqhkiG9w0BAQEF".repeat(16);
  await using world = await startDoctor(0, key);
  const { doctor, resolver } = world;
  const value = `v=DKIM1; k=rsa; p=${key}`;
  resolver.zone["pombo1._domainkey.d7.example"] = { TXT: [value.slice(0, 255)] };
  resolver.zone["pombo1._domainkey.d8.example"] = { TXT: [value] };
  await doctor.start();
  const look = (domain: string) => doctor.examine({ domain, only: ["resolver_txt"], rdap: false });
  const troubles = () => doctor.troubles().map(({ id, subject }) => `${id} ${subject}`);
  await look("d7.example");
  expect(troubles()).toEqual(["resolver_txt d7.example"]);
  await look("d8.example");
  expect(troubles()).toEqual(["resolver_txt d7.example"]);
  resolver.zone["pombo1._domainkey.d7.example"] = { TXT: [value] };
  await look("d7.example");
  expect(troubles()).toEqual([]);
});
