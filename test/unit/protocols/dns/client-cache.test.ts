import { expect, test } from "bun:test";
import { createResolver } from "../../../../src/protocols/dns/client.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { startFakeDns } from "../../../support/fakes/dns-server.ts";
import type { FakeDns } from "../../../support/fakes/dns-server.ts";
import type { Zone } from "../../../support/fakes/zone.ts";
import { createManualClock } from "../../../support/dns/manual-clock.ts";

const zone: Zone = {
  "example.com": {
    MX: [
      [10, "mx1.example.com"],
      [20, "mx2.example.com"],
    ],
    A: ["198.51.100.1"],
  },
};

function open(servers: FakeDns[]) {
  const clock = createManualClock();
  const addresses = servers.map((server) => server.address);
  return { clock, resolver: createResolver({ servers: addresses, clock, random: systemRandom }) };
}

test("a second lookup is answered from the cache without a timer until its TTL is over", async () => {
  await using server = await startFakeDns({ "a.example": { A: ["198.51.100.1"], ttlS: 60 } });
  const { clock, resolver } = open([server]);
  await resolver.a("a.example");
  clock.advance(20_000);
  const again = resolver.a("A.example.");
  expect(clock.waiting).toBe(0);
  expect(await again).toMatchObject({ kind: "found", ttlS: 40 });
  expect(server.queries).toHaveLength(1);
  clock.advance(40_000);
  await resolver.a("a.example");
  expect(server.queries).toHaveLength(2);
});

test("failures are not remembered", async () => {
  await using server = await startFakeDns(zone, { "*": "servfail" });
  const { resolver } = open([server]);
  expect(await resolver.a("example.com")).toMatchObject({ kind: "failed" });
  delete server.faults["*"];
  expect(await resolver.a("example.com")).toMatchObject({ kind: "found" });
});

test("identical lookups under way share one query, and nobody can spoil another's list", async () => {
  await using server = await startFakeDns(zone);
  const { resolver } = open([server]);
  const [one, two] = await Promise.all([resolver.mx("example.com"), resolver.mx("Example.com.")]);
  expect(server.queries).toHaveLength(1);
  if (one.kind !== "found" || two.kind !== "found") throw new Error("both are found");
  one.records.length = 0;
  expect(two.records).toHaveLength(2);
  expect(await resolver.mx("example.com")).toMatchObject({ records: [{ preference: 10 }, { preference: 20 }] });
});

test("a fresh lookup passes the cache by, asks the preferred server first and renews the cache", async () => {
  await using first = await startFakeDns({});
  await using second = await startFakeDns({});
  const { resolver } = open([first, second]);
  expect(await resolver.txt("new.example")).toEqual({ kind: "no_name", server: first.address });
  first.zone["new.example"] = { TXT: ["there"] };
  second.zone["new.example"] = { TXT: ["there"] };
  expect(await resolver.txt("new.example")).toMatchObject({ kind: "no_name" });
  expect(await resolver.fresh(1).txt("new.example")).toMatchObject({ kind: "found", server: second.address });
  expect(await resolver.fresh(2).txt("new.example")).toMatchObject({ kind: "found", server: first.address });
  expect(await resolver.txt("new.example")).toMatchObject({ kind: "found", server: first.address });
});

test("a fresh lookup falls back to the other server when the preferred one fails", async () => {
  await using first = await startFakeDns(zone);
  await using second = await startFakeDns(zone, { "*": "servfail" });
  const { resolver } = open([first, second]);
  expect(await resolver.fresh(1).a("example.com")).toMatchObject({ kind: "found", server: first.address });
});
