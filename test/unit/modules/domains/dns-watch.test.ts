// While somebody looks at a domain, its zone is asked every ten seconds, the world only for what is there, and nothing is
// written until something is different.

import { expect, test } from "bun:test";
import { checkDomain, type RecordCheck } from "../../../../src/modules/domains/check.ts";
import { type HostView, listChecks } from "../../../../src/modules/domains/dns-host/host-views.ts";
import { DomainWatch } from "../../../../src/modules/domains/dns-host/watch.ts";
import { buildRecords } from "../../../../src/modules/domains/records.ts";
import { dnsAfterCheck } from "../../../../src/modules/domains/serialize.ts";
import type { DomainRow } from "../../../../src/modules/domains/store.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { createFakeResolver } from "../../../support/fakes/resolver.ts";

const settings = { bounceHost: "mx.operator.example", dmarcRua: null };
const keys = (["rsa-sha256", "ed25519-sha256"] as const).map((algorithm, index) => ({
  ...{ domainId: 1, selector: `pombo${index + 1}`, algorithm, publicKey: "AAAA", privateKey: Buffer.of() },
}));
const records = buildRecords({ name: "example.com" }, keys, settings);
const rsa = records.dkim[0];

async function start() {
  const clock = fakeClock();
  const zone = createFakeResolver();
  const world = createFakeResolver();
  const check = (resolver: typeof zone) => checkDomain({ domain: "example.com", records, resolver });
  const on = {
    clock,
    zone,
    world,
    asked: 0,
    verified: 0,
    noted: 0,
    errors: [] as unknown[],
    domain: { id: 1, workspaceId: 1, name: "example.com", status: "pending" } as DomainRow,
    last: JSON.stringify(dnsAfterCheck(await check(world))) as string | null,
  };
  const views = new Map<number, HostView>();
  const watch = new DomainWatch({
    clock,
    settings,
    commit: (write) => Promise.resolve(write()),
    log: { event() {}, error: (_, error) => void on.errors.push(error) },
    resolver: { fresh: () => world },
    verifier: {
      async verifyUnasked() {
        on.verified += 1;
        on.last = JSON.stringify(dnsAfterCheck(await check(world)));
        return null;
      },
    },
    hosts: {
      peek: (id) => views.get(id),
      async refresh({ id }) {
        on.asked += 1;
        const seen: RecordCheck[] = listChecks(await check(zone));
        const view = { zone: "example.com", nameServers: [], host: null, negativeTtlS: 60, records: seen };
        views.set(id, view);
        return view;
      },
    },
    domains: {
      byId: () => on.domain,
      findLastCheck: () => on.last,
      listKeys: () => keys,
      noteChange: () => void (on.noted += 1),
    },
  });
  /** Moves the clock on, and lets what began end. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return Object.assign(on, { watch, pass });
}

test("one look every ten seconds however many watch, none when nobody does", async () => {
  const on = await start();
  const ends = [on.watch.watch(1), on.watch.watch(1)];
  await on.pass(0);
  expect(on.asked).toBe(1);
  await on.pass(9_999);
  expect(on.asked).toBe(1);
  for (let nth = 2; nth < 5; nth += 1) {
    await on.pass(nth === 2 ? 1 : 10_000);
    expect(on.asked).toBe(nth);
  }
  ends[0]?.();
  ends[0]?.();
  await on.pass(10_000);
  expect(on.asked).toBe(5);
  ends[1]?.();
  expect(on.clock.pending).toBe(0);
  expect([on.verified, on.noted, on.errors]).toEqual([0, 1, []]);
});

test("the world is asked only once the zone has a record, and what it sees then is written once", async () => {
  const on = await start();
  on.watch.watch(1);
  await on.pass(0);
  const before = on.world.lookups.length;
  await on.pass(10_000);
  expect(on.world.lookups).toHaveLength(before);

  on.zone.zone[rsa.name] = { TXT: [rsa.value] };
  await on.pass(10_000);
  expect(on.world.lookups.length).toBeGreaterThan(before);
  expect([on.verified, on.noted]).toEqual([0, 2]);
  await on.pass(10_000);
  expect([on.verified, on.noted]).toEqual([0, 2]);

  on.world.zone[rsa.name] = { TXT: [rsa.value] };
  await on.pass(10_000);
  expect(on.verified).toBe(1);
  await on.pass(10_000);
  expect([on.verified, on.noted]).toEqual([1, 2]);
});

test("a domain that was never checked is checked at once; one that has all, or is suspended, is left alone", async () => {
  const on = await start();
  on.last = null;
  on.watch.watch(1);
  await on.pass(0);
  expect([on.asked, on.verified]).toEqual([1, 1]);

  on.domain = { ...on.domain, status: "suspended" };
  await on.pass(10_000);
  expect(on.asked).toBe(1);

  for (const { type, name, value } of [...records.dkim, records.spf, records.dmarc])
    on.world.zone[name] = type === "CNAME" ? { CNAME: value } : { TXT: [value] };
  on.world.zone["mx.operator.example"] = { A: ["1.0.0.1"] };
  on.last = JSON.stringify(dnsAfterCheck(await checkDomain({ domain: "example.com", records, resolver: on.world })));
  on.domain = { ...on.domain, status: "verified" };
  await on.pass(10_000);
  expect(on.asked).toBe(1);
});

test("a page that stays open is looked after less often in time, and a fault ends nothing", async () => {
  const on = await start();
  on.watch.watch(1);
  await on.pass(0);
  for (let nth = 0; nth < 90; nth += 1) await on.pass(10_000);
  const { asked } = on;
  await on.pass(50_000);
  expect(on.asked).toBe(asked);
  const { domain } = on;
  on.domain = null as never;
  await on.pass(10_000);
  on.domain = domain;
  await on.pass(60_000);
  expect(on.asked).toBe(asked + 1);
  expect(on.errors).toHaveLength(1);
  on.watch.close();
  expect(on.clock.pending).toBe(0);
});
