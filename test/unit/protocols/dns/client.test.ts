import { expect, test } from "bun:test";
import dgram from "node:dgram";
import { turn } from "../../../support/db/temporary.ts";
import { createResolver } from "../../../../src/protocols/dns/client.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { startFakeDns } from "../../../support/fakes/dns-server.ts";
import type { FakeDns } from "../../../support/fakes/dns-server.ts";
import type { Zone } from "../../../support/fakes/zone.ts";
import { createManualClock } from "../../../support/dns/manual-clock.ts";

const zone: Zone = {
  "example.com": {
    MX: [
      [10, "MX1.Example.com."],
      [20, "mx2.example.com"],
    ],
    A: ["198.51.100.1"],
  },
  "mx1.example.com": { A: ["198.51.100.2", "198.51.100.3"], AAAA: ["2001:db8::25", "::ffff:127.0.0.1"] },
  "null.example": { MX: [[0, "."]] },
  "txt.example": { TXT: [["v=DKIM1; p=", "AB", "CD"], "second"] },
  "alias.example": { CNAME: "Example.COM." },
};

function open(servers: FakeDns[], timeoutMs?: number) {
  const clock = createManualClock();
  const addresses = servers.map((server) => server.address);
  const resolver = createResolver({
    servers: addresses,
    clock,
    random: systemRandom,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  return { clock, resolver };
}

/** A bare UDP socket in the place of a server, to see and send what a scripted server does not. */
async function listen() {
  const socket = dgram.createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", () => resolve()));
  return {
    socket,
    address: `127.0.0.1:${socket.address().port}`,
    next: () =>
      new Promise<{ message: Buffer; port: number }>((resolve) => {
        socket.once("message", (message, peer) => resolve({ message, port: peer.port }));
      }),
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}

test("MX, A and AAAA records come in the order of the answer, names in lower case without a dot", async () => {
  await using server = await startFakeDns(zone);
  const { resolver } = open([server]);
  expect(await resolver.mx("EXAMPLE.com.")).toEqual({
    kind: "found",
    records: [
      { preference: 10, exchange: "mx1.example.com" },
      { preference: 20, exchange: "mx2.example.com" },
    ],
    ttlS: 30,
    server: server.address,
  });
  expect(await resolver.a("mx1.example.com")).toMatchObject({ records: ["198.51.100.2", "198.51.100.3"] });
  expect(await resolver.aaaa("mx1.example.com")).toMatchObject({ records: ["2001:db8::25", "::ffff:7f00:1"] });
});

test("a null MX has an empty exchange (R4)", async () => {
  await using server = await startFakeDns(zone);
  const { resolver } = open([server]);
  expect(await resolver.mx("null.example")).toMatchObject({ records: [{ preference: 0, exchange: "" }] });
});

test("the strings of one TXT record are joined, two records stay two", async () => {
  await using server = await startFakeDns(zone);
  const { resolver } = open([server]);
  expect(await resolver.txt("txt.example")).toMatchObject({ records: ["v=DKIM1; p=ABCD", "second"] });
});

test("a name that does not exist is told apart from a record that does not exist (R1, R2)", async () => {
  await using server = await startFakeDns(zone);
  const { resolver } = open([server]);
  expect(await resolver.mx("absent.example")).toEqual({ kind: "no_name", server: server.address });
  expect(await resolver.mx("txt.example")).toEqual({ kind: "no_data", server: server.address });
});

test("a name that no question can carry does not exist, and nobody is asked", async () => {
  await using server = await startFakeDns(zone);
  const { resolver } = open([server]);
  for (const name of ["", ".", "a..b", `${"a".repeat(64)}.example`, `${"a.".repeat(127)}example`]) {
    expect(await resolver.a(name)).toEqual({ kind: "no_name", server: "" });
  }
  expect(server.queries).toHaveLength(0);
});

test("answers beyond one datagram come over TCP", async () => {
  await using server = await startFakeDns({ "big.example": { TXT: ["x".repeat(3000)] } });
  const { resolver } = open([server]);
  expect(await resolver.txt("big.example")).toMatchObject({ records: ["x".repeat(3000)] });
  expect(server.queries.map((query) => query.transport)).toEqual(["udp", "tcp"]);
});

test("a truncated answer is never used, even when TCP brings nothing better", async () => {
  for (const fault of ["truncated_tcp_empty", "truncated_tcp_wrong_id"] as const) {
    await using server = await startFakeDns(zone, { "*": fault });
    const { resolver } = open([server]);
    expect(await resolver.mx("example.com")).toMatchObject({ kind: "failed" });
  }
});

test("a forged answer with a wrong id or question is ignored while the true one is awaited (§5)", async () => {
  for (const fault of ["wrong_id", "wrong_question"] as const) {
    await using server = await startFakeDns(zone, { "*": fault });
    const { resolver } = open([server]);
    expect(await resolver.a("example.com")).toMatchObject({ kind: "found", records: ["198.51.100.1"] });
  }
});

test("a forged answer from another source is ignored (§5)", async () => {
  await using other = await startFakeDns(zone);
  await using listener = await listen();
  const resolver = createResolver({
    servers: [listener.address, other.address],
    clock: createManualClock(),
    random: systemRandom,
  });
  const answer = resolver.a("absent.example");
  const query = await listener.next();
  const forger = dgram.createSocket("udp4");
  // SERVFAIL with the right id: believed, it would make the resolver ask the other server.
  const forged = Buffer.from(query.message);
  forged.writeUInt16BE(0x8182, 2);
  await new Promise<void>((resolve) => forger.send(forged, query.port, "127.0.0.1", () => resolve()));
  const genuine = Buffer.from(query.message);
  genuine.writeUInt16BE(0x8183, 2);
  listener.socket.send(genuine, query.port, "127.0.0.1");
  expect(await answer).toEqual({ kind: "no_name", server: listener.address });
  expect(other.queries).toHaveLength(0);
  forger.close();
});

test("every query has an id and a source port of its own (§5)", async () => {
  await using listener = await listen();
  const ids = new Set<number>();
  const ports = new Set<number>();
  const resolver = createResolver({ servers: [listener.address], clock: createManualClock(), random: systemRandom });
  for (let index = 0; index < 20; index += 1) {
    const answer = resolver.a(`n${index}.example`);
    const query = await listener.next();
    ids.add(query.message.readUInt16BE(0));
    ports.add(query.port);
    query.message.writeUInt16BE(0x8183, 2);
    listener.socket.send(query.message, query.port, "127.0.0.1");
    await answer;
  }
  expect(ids.size).toBeGreaterThan(15);
  expect(ports.size).toBeGreaterThan(10);
});

test("SERVFAIL, refusal and garbage send the question to the next server", async () => {
  for (const fault of ["servfail", "refused", "formerr", "garbage", "referral"] as const) {
    await using bad = await startFakeDns(zone, { "*": fault });
    await using good = await startFakeDns(zone);
    const { resolver } = open([bad, good]);
    expect(await resolver.a("example.com")).toMatchObject({ kind: "found", server: good.address });
  }
});

test("when every server fails the reason names each of them, by its number", async () => {
  await using first = await startFakeDns(zone, { "*": "servfail" });
  await using second = await startFakeDns(zone, { "*": "refused" });
  const { resolver } = open([first, second]);
  expect(await resolver.mx("example.com")).toEqual({
    kind: "failed",
    reason: "MX example.com: DNS server 1 answered SERVFAIL; DNS server 2 answered REFUSED",
  });
  // A server that has spoken is not asked again at once.
  expect(first.queries).toHaveLength(1);
});

test("a silent server is given its time, then the next one is asked, and from then on that one first", async () => {
  await using silent = await startFakeDns(zone, { "*": "silence" });
  await using good = await startFakeDns(zone);
  const { clock, resolver } = open([silent, good]);
  const answer = resolver.a("example.com");
  await silent.seen(1);
  clock.advance(5000);
  expect(await answer).toMatchObject({ kind: "found", server: good.address });
  expect(await resolver.a("mx1.example.com")).toMatchObject({ kind: "found", server: good.address });
  expect(silent.queries).toHaveLength(1);
});

test("a server that stays silent is asked twice and then named", async () => {
  await using server = await startFakeDns(zone, { "*": "silence" });
  const { clock, resolver } = open([server], 2000);
  const answer = resolver.a("example.com");
  await server.seen(1);
  clock.advance(2000);
  await server.seen(2);
  clock.advance(2000);
  expect(await answer).toEqual({
    kind: "failed",
    reason: "A example.com: DNS server 1 did not answer within 2 s",
  });
  expect(clock.waiting).toBe(0);
});

test("a closed port is noticed without waiting for the timeout", async () => {
  const gone = await startFakeDns(zone);
  await gone.close();
  await using good = await startFakeDns(zone);
  const { resolver } = open([gone, good]);
  expect(await resolver.a("example.com")).toMatchObject({ kind: "found", server: good.address });
});

test("a server that knows no EDNS is asked without it", async () => {
  await using server = await startFakeDns(zone, { "*": "no_edns" });
  const { resolver } = open([server]);
  expect(await resolver.a("example.com")).toMatchObject({ kind: "found" });
  expect(server.queries).toHaveLength(2);
});

test("CNAMEs are followed, but not for a question about the CNAME itself (R5)", async () => {
  await using server = await startFakeDns(zone);
  const { resolver } = open([server]);
  expect(await resolver.mx("alias.example")).toMatchObject({ kind: "found" });
  expect(await resolver.cname("alias.example")).toMatchObject({ kind: "found", records: ["example.com"] });
  expect(await resolver.cname("example.com")).toMatchObject({ kind: "no_data" });
});

test("an answer that stops at a CNAME is continued with further questions", async () => {
  await using server = await startFakeDns(
    {
      "a.example": { CNAME: "b.other", ttlS: 20 },
      "b.other": { CNAME: "c.other", ttlS: 10 },
      "c.other": { A: ["198.51.100.9"] },
      "d.example": { CNAME: "gone.other" },
    },
    { "*": "first_record_alone" },
  );
  const { resolver } = open([server]);
  expect(await resolver.a("a.example")).toMatchObject({ records: ["198.51.100.9"], ttlS: 10 });
  expect(server.queries.map((query) => query.name)).toEqual(["a.example", "b.other", "c.other"]);
  expect(await resolver.aaaa("a.example")).toMatchObject({ kind: "no_data" });
  expect(await resolver.a("d.example")).toMatchObject({ kind: "no_name" });
});

test("a long chain of CNAMEs and a circle of them fail instead of going on for ever (R5)", async () => {
  const chain: Zone = {};
  for (let index = 0; index < 20; index += 1) chain[`n${index}.example`] = { CNAME: `n${index + 1}.example` };
  chain["x.example"] = { CNAME: "y.example" };
  chain["y.example"] = { CNAME: "x.example" };
  chain["self.example"] = { CNAME: "self.example" };
  chain["n20.example"] = { A: ["198.51.100.1"] };
  await using server = await startFakeDns(chain);
  const { resolver } = open([server]);
  await using lazy = await startFakeDns(chain, { "*": "first_record_alone" });
  for (const name of ["n0.example", "x.example"]) {
    expect(await open([lazy]).resolver.a(name)).toMatchObject({ kind: "failed" });
  }
  for (const name of ["n0.example", "x.example", "self.example"]) {
    expect(await resolver.a(name)).toMatchObject({ kind: "failed" });
  }
  expect(await resolver.a("n4.example")).toMatchObject({ kind: "found" });
});

test("close ends the lookups under way and refuses further ones", async () => {
  await using server = await startFakeDns(zone, { "*": "silence" });
  const { clock, resolver } = open([server]);
  const answer = resolver.a("example.com");
  await server.seen(1);
  resolver.close();
  expect(await answer).toMatchObject({ kind: "failed" });
  expect(await resolver.a("other.example")).toEqual({ kind: "failed", reason: "the resolver is closed" });
  expect(clock.waiting).toBe(0);
});

test("many more lookups than the limit in flight all come to an end", async () => {
  await using server = await startFakeDns({});
  const { resolver } = open([server]);
  const answers = await Promise.all(Array.from({ length: 600 }, (_, index) => resolver.a(`n${index}.example`)));
  expect(answers.every((answer) => answer.kind === "no_name")).toBe(true);
});

test("no more lookups than may be under way at once have sockets open", async () => {
  await using server = await startFakeDns({}, { "*": "slow" });
  const clock = createManualClock();
  const resolver = createResolver({ servers: [server.address], clock, random: systemRandom, lookupsAtOnce: 3 });
  const answers = Array.from({ length: 7 }, (_, index) => resolver.a(`n${index}.example`));
  for (const seen of [3, 6, 7]) {
    await server.seen(seen);
    // Turns enough for a datagram on loopback, were one more sent.
    await turn(100);
    expect(server.queries).toHaveLength(seen);
    server.release();
  }
  expect((await Promise.all(answers)).every(({ kind }) => kind === "no_name")).toBe(true);
});

test("a lookup that is given up leaves its place to the next at once, whether it was asking or waiting", async () => {
  await using server = await startFakeDns({ "there.example": { A: ["93.184.215.14"] } }, { "mute.example": "silence" });
  const clock = createManualClock();
  const resolver = createResolver({ servers: [server.address], clock, random: systemRandom, lookupsAtOnce: 1 });
  const first = new AbortController();
  const second = new AbortController();
  const asking = resolver.a("mute.example", first.signal);
  const waiting = resolver.aaaa("mute.example", second.signal);
  const there = resolver.a("there.example");
  await server.seen(1);
  second.abort();
  expect(await waiting).toEqual({ kind: "failed", reason: "the lookup was given up" });
  first.abort();
  expect(await asking).toEqual({ kind: "failed", reason: "the lookup was given up" });
  expect(await there).toMatchObject({ kind: "found", records: ["93.184.215.14"] });
  expect([server.queries.map(({ name }) => name), clock.waiting]).toEqual([["mute.example", "there.example"], 0]);
});

test("a lookup that several wait for goes on until the last of them gives up, and is no answer for those who come later", async () => {
  await using server = await startFakeDns({ "late.example": { A: ["93.184.215.14"] } }, { "late.example": "slow" });
  const { resolver, clock } = open([server]);
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const left = resolver.a("late.example", first.signal);
  const stayed = resolver.a("late.example", second.signal);
  const patient = resolver.a("late.example");
  await server.seen(1);
  first.abort();
  expect((await left).kind).toBe("failed");
  server.release();
  expect([(await stayed).kind, (await patient).kind]).toEqual(["found", "found"]);
  expect(server.queries).toHaveLength(1);

  const alone = resolver.a("other.late.example", third.signal);
  server.faults["other.late.example"] = "silence";
  third.abort();
  delete server.faults["other.late.example"];
  const next = resolver.a("other.late.example");
  expect([(await alone).kind, (await next).kind]).toEqual(["failed", "no_name"]);
  expect((await resolver.a("late.example", AbortSignal.abort())).kind).toBe("found");
  expect(clock.waiting).toBe(0);
});

test("a server that is not an address is refused with a sentence that says how to write it", () => {
  const clock = createManualClock();
  for (const server of ["dns.example:53", "::1:53", "127.0.0.1:70000", "127.0.0.1:0", ""]) {
    expect(() => createResolver({ servers: [server], clock, random: systemRandom })).toThrow(/write an IP address/);
  }
  expect(() => createResolver({ servers: [], clock, random: systemRandom })).toThrow(/Name 1 to 8/);
});
