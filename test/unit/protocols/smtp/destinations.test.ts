import { expect, test } from "bun:test";
import { createResolver, type Lookup } from "../../../../src/protocols/dns/client.ts";
import { parseRanges } from "../../../../src/platform/ip/address.ts";
import type { Random } from "../../../../src/platform/random.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { findRoute, limitLookups } from "../../../../src/protocols/smtp/mx-lookup.ts";
import type { Route } from "../../../../src/protocols/smtp/mx-lookup.ts";
import { startFakeDns } from "../../../support/fakes/dns-server.ts";
import { createFakeResolver } from "../../../support/fakes/resolver.ts";
import type { Zone } from "../../../support/fakes/resolver.ts";

/** `unit()` gives the listed numbers in turn. */
function fixedRandom(...units: number[]): Random {
  let turn = 0;
  return { bytes: (count) => new Uint8Array(count), unit: () => units[turn++ % units.length] ?? 0 };
}

interface Scene {
  failures?: Record<string, string>;
  random?: Random;
  allowed?: string[];
  own?: { names: string[]; addresses: string[] };
}

function route(domain: string, zone: Zone, scene: Scene = {}): Promise<Route> {
  return findRoute(domain, {
    resolver: createFakeResolver(zone, scene.failures),
    random: scene.random ?? fixedRandom(0),
    allowed: parseRanges(scene.allowed ?? []),
    ...(scene.own ? { own: scene.own } : {}),
  });
}

const hosts = (found: Route) => (found.kind === "hosts" ? found.hosts.map((host) => host.name) : found);
const addresses = (found: Route) => (found.kind === "hosts" ? found.hosts.flatMap((host) => host.addresses) : found);

test("hosts are tried by preference (R6)", async () => {
  const found = await route("a.example", {
    "a.example": {
      MX: [
        [20, "second.example"],
        [5, "first.example"],
        [30, "third.example"],
      ],
    },
    "first.example": { A: ["1.0.0.1"] },
    "second.example": { A: ["1.0.0.2"] },
    "third.example": { A: ["1.0.0.3"] },
  });
  expect(found).toEqual({
    kind: "hosts",
    hosts: [
      { name: "first.example", addresses: ["1.0.0.1"] },
      { name: "second.example", addresses: ["1.0.0.2"] },
      { name: "third.example", addresses: ["1.0.0.3"] },
    ],
    site: "first.example,second.example,third.example",
  });
});

test("hosts of equal preference are shuffled, and only those (R6)", async () => {
  const zone: Zone = {
    "a.example": {
      MX: [
        [10, "x.example"],
        [10, "y.example"],
        [5, "z.example"],
      ],
    },
    "x.example": { A: ["1.0.0.1"] },
    "y.example": { A: ["1.0.0.2"] },
    "z.example": { A: ["1.0.0.3"] },
  };
  expect(hosts(await route("a.example", zone, { random: fixedRandom(0.1, 0.9, 0.5) }))).toEqual([
    "z.example",
    "x.example",
    "y.example",
  ]);
  expect(hosts(await route("a.example", zone, { random: fixedRandom(0.9, 0.1, 0.5) }))).toEqual([
    "z.example",
    "y.example",
    "x.example",
  ]);
});

test("a domain without MX records is its own mail host (R2)", async () => {
  const found = await route("a.example", { "a.example": { A: ["1.0.0.1"], AAAA: ["2a00::1"] } });
  expect(found).toEqual({
    kind: "hosts",
    hosts: [{ name: "a.example", addresses: ["1.0.0.1", "2a00::1"] }],
    site: "a.example",
  });
});

test("a domain with MX records never falls back to its own address (R2)", async () => {
  const found = await route("a.example", { "a.example": { MX: [[10, "gone.example"]], A: ["1.0.0.1"] } });
  expect(found).toMatchObject({ kind: "bad_domain", cause: "no_address" });
});

test("a domain that does not exist is a bad domain, and the server that said so is named (R1)", async () => {
  expect(await route("a.example", {})).toEqual({
    kind: "bad_domain",
    cause: "no_name",
    reason: "a.example does not exist",
    server: "192.0.2.53:53",
  });
});

test("an MX lookup that fails is trouble, whatever the addresses say (R1)", async () => {
  const found = await route(
    "a.example",
    { "a.example": { A: ["1.0.0.1"] } },
    { failures: { "MX a.example": "SERVFAIL" } },
  );
  expect(found).toEqual({ kind: "temporary_failure", reason: "MX a.example: SERVFAIL" });
});

test("a null MX alone is a bad domain, even with an address (R4)", async () => {
  const found = await route("a.example", { "a.example": { MX: [[0, "."]], A: ["1.0.0.1"] } });
  expect(found).toMatchObject({ kind: "bad_domain", cause: "null_mx" });
});

test("a null MX beside others is dropped (R4)", async () => {
  const found = await route("a.example", {
    "a.example": {
      MX: [
        [0, "."],
        [10, "mx.example"],
      ],
    },
    "mx.example": { A: ["1.0.0.1"] },
  });
  expect(found).toMatchObject({ kind: "hosts", site: "mx.example" });
});

test("a domain with neither MX nor address is a bad domain (R3)", async () => {
  expect(await route("a.example", { "a.example": { TXT: ["x"] } })).toMatchObject({
    kind: "bad_domain",
    cause: "no_address",
    reason: "a.example has no MX and no address",
  });
});

test("mail hosts without an address are a bad domain only if no lookup failed (R3)", async () => {
  const zone: Zone = {
    "a.example": {
      MX: [
        [10, "x.example"],
        [20, "y.example"],
      ],
    },
    "y.example": { TXT: ["x"] },
  };
  expect(await route("a.example", zone)).toMatchObject({ kind: "bad_domain", cause: "no_address" });
  for (const name of ["A x.example", "AAAA y.example"]) {
    expect(await route("a.example", zone, { failures: { [name]: "timeout" } })).toEqual({
      kind: "temporary_failure",
      reason: `${name}: timeout`,
    });
  }
});

test("a host that cannot be looked up does not hinder the others", async () => {
  const zone: Zone = {
    "a.example": {
      MX: [
        [10, "x.example"],
        [20, "y.example"],
      ],
    },
    "y.example": { A: ["1.0.0.2"] },
  };
  expect(hosts(await route("a.example", zone, { failures: { "x.example": "SERVFAIL" } }))).toEqual(["y.example"]);
});

test("MX records that name no host are dropped, and alone they make a bad domain (R3)", async () => {
  const odd = "<b>x</b>\u001b[2J.example";
  const zone: Zone = { "a.example": { MX: [[10, odd]] }, [odd]: { A: ["1.0.0.1"] }, "x.example": { A: ["1.0.0.2"] } };
  expect(await route("a.example", zone)).toMatchObject({ kind: "bad_domain", cause: "no_address" });
  zone["a.example"] = {
    MX: [
      [10, odd],
      [20, "x.example"],
    ],
  };
  expect(await route("a.example", zone)).toMatchObject({ kind: "hosts", site: "x.example" });
});

test("CNAMEs are followed, on the domain and on its mail host (R5)", async () => {
  const found = await route("a.example", {
    "a.example": { CNAME: "b.example" },
    "b.example": { MX: [[10, "mail.example"]] },
    "mail.example": { CNAME: "host.example" },
    "host.example": { A: ["1.0.0.1"] },
  });
  expect(found).toMatchObject({ kind: "hosts", hosts: [{ name: "mail.example", addresses: ["1.0.0.1"] }] });
  const plain = await route("c.example", { "c.example": { CNAME: "d.example" }, "d.example": { A: ["1.0.0.2"] } });
  expect(addresses(plain)).toEqual(["1.0.0.2"]);
});

test("IPv4 comes before IPv6 within a host (R7)", async () => {
  const found = await route("a.example", {
    "a.example": { MX: [[10, "x.example"]] },
    "x.example": { AAAA: ["2a00::1", "2a00::2"], A: ["1.0.0.1", "1.0.0.2"] },
  });
  expect(addresses(found)).toEqual(["1.0.0.1", "1.0.0.2", "2a00::1", "2a00::2"]);
});

test("at most five addresses are tried, and the first host leaves some of them to the next (R6)", async () => {
  const many = Array.from({ length: 9 }, (_, index) => `1.0.0.${index}`);
  const two = await route("a.example", {
    "a.example": {
      MX: [
        [10, "x.example"],
        [20, "y.example"],
      ],
    },
    "x.example": { A: many },
    "y.example": { A: ["2.0.0.1", "2.0.0.2", "2.0.0.3"] },
  });
  expect(addresses(two)).toEqual(["1.0.0.0", "1.0.0.1", "1.0.0.2", "2.0.0.1", "2.0.0.2"]);
  const one = await route("b.example", { "b.example": { A: many } });
  expect(addresses(one)).toEqual(many.slice(0, 5));
});

test("addresses inside our own network are dropped, the others stay (R8)", async () => {
  const found = await route("a.example", {
    "a.example": {
      MX: [
        [10, "x.example"],
        [20, "y.example"],
      ],
    },
    "x.example": { A: ["10.0.0.1", "1.0.0.1"], AAAA: ["::ffff:127.0.0.1"] },
    "y.example": { A: ["127.0.0.1"] },
  });
  expect(found).toMatchObject({ kind: "hosts", hosts: [{ name: "x.example", addresses: ["1.0.0.1"] }] });
});

test("a domain that leads only into our own network is trouble that names the address, not a bounce (R8)", async () => {
  const zone: Zone = { "a.example": { MX: [[10, "x.example"]] }, "x.example": { A: ["127.0.0.1"] } };
  expect(await route("a.example", zone)).toEqual({
    kind: "temporary_failure",
    reason: "x.example: 127.0.0.1 is a loopback address",
  });
  expect(addresses(await route("a.example", zone, { allowed: ["127.0.0.0/8"] }))).toEqual(["127.0.0.1"]);
});

test("hosts at or after our own place in the list are discarded, and our own address is refused (R8)", async () => {
  const zone: Zone = {
    "a.example": {
      MX: [
        [10, "x.example"],
        [20, "us.example"],
        [20, "y.example"],
        [30, "z.example"],
      ],
    },
    "x.example": { A: ["1.0.0.1"] },
    "y.example": { A: ["1.0.0.2"] },
    "z.example": { A: ["1.0.0.3"] },
  };
  const own = { names: ["us.example"], addresses: ["1.0.0.9"] };
  expect(hosts(await route("a.example", zone, { own }))).toEqual(["x.example"]);
  const back = await route("b.example", { "b.example": { MX: [[10, "us.example"]] } }, { own });
  expect(back).toMatchObject({ kind: "temporary_failure" });
  const address = await route("c.example", { "c.example": { A: ["1.0.0.9"] } }, { own });
  expect(address).toEqual({ kind: "temporary_failure", reason: "c.example: 1.0.0.9 is this server" });
});

test("domains with the same mail hosts share a site, in whatever order they list them (R12)", async () => {
  const zone: Zone = {
    "a.example": {
      MX: [
        [10, "x.example"],
        [20, "Y.example."],
      ],
    },
    "b.example": {
      MX: [
        [5, "y.example"],
        [5, "x.example"],
      ],
    },
    "x.example": { A: ["1.0.0.1"] },
  };
  expect(await route("a.example", zone)).toMatchObject({ site: "x.example,y.example" });
  expect(await route("b.example", zone)).toMatchObject({ site: "x.example,y.example" });
});

test("a domain with a hundred mail hosts costs a bounded number of lookups and has a short site", async () => {
  const names = Array.from({ length: 100 }, (_, index) => `mx${index}.example`);
  const resolver = createFakeResolver({ "a.example": { MX: names.map((name, index) => [index, name]) } });
  const options = { resolver, random: fixedRandom(0), allowed: parseRanges([]) };
  expect(await findRoute("a.example", options)).toMatchObject({ kind: "bad_domain" });
  expect(resolver.lookups).toHaveLength(41);
  resolver.zone["mx3.example"] = { A: ["1.0.0.1"] };
  const found = await findRoute("a.example", options);
  if (found.kind !== "hosts") throw new Error("one host has an address");
  expect(found.site.length).toBeLessThanOrEqual(255);
});

test("a route has no more lookups under way than its share, however many hosts a domain names", async () => {
  const names = Array.from({ length: 30 }, (_, index) => `mx${index}.example`);
  const resolver = createFakeResolver({ "a.example": { MX: names.map((name) => [10, name]) } });
  let underWay = 0;
  let most = 0;
  const counted = async (): Promise<Lookup<string>> => {
    most = Math.max(most, (underWay += 1));
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return { kind: "failed", reason: "no answer" };
  };
  const options = {
    resolver: { ...resolver, a: counted, aaaa: counted },
    random: fixedRandom(0),
    allowed: parseRanges([]),
  };
  expect(await findRoute("a.example", options)).toMatchObject({ kind: "temporary_failure", reason: "no answer" });
  expect(most).toBe(limitLookups(1));
  expect(limitLookups(200)).toBe(200 * most);
  expect(limitLookups(1_000_000)).toBeLessThan(10_000);
});

test("a route is found over a real server", async () => {
  await using server = await startFakeDns({
    "a.example": { MX: [[10, "MX.a.example."]] },
    "mx.a.example": { A: ["127.0.0.1"] },
  });
  const resolver = createResolver({ servers: [server.address], clock: systemClock, random: systemRandom });
  const allowed = parseRanges(["127.0.0.0/8"]);
  expect(await findRoute("a.example", { resolver, random: systemRandom, allowed })).toEqual({
    kind: "hosts",
    hosts: [{ name: "mx.a.example", addresses: ["127.0.0.1"] }],
    site: "mx.a.example",
  });
});
