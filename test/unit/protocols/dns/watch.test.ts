// Whether DNS answers at all: servers whose port is closed, which a connected socket tells at once.
import { expect, test } from "bun:test";
import { createWatchedResolver } from "../../../../src/protocols/dns/resolver-health.ts";
import type { Log } from "../../../../src/platform/log.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { answerMessage, listenForDns } from "../../../../src/sandbox/dns/server.ts";
import { startFakeDns } from "../../../support/fakes/dns-server.ts";
import { answerFromZone, type Zone } from "../../../support/fakes/zone.ts";
import { createManualClock } from "../../../support/dns/manual-clock.ts";

const OWN_NAME = "mail.pombo.test";
const ZONE: Zone = { [OWN_NAME]: { A: ["127.0.0.1"] }, "example.com": { A: ["198.51.100.1"] } };
const AGAIN_MS = 5_000;

function watched(servers: string[]) {
  const clock = createManualClock();
  const events: { name: string; fields: unknown; level: string | undefined }[] = [];
  const watchers: { count: number; resolve: () => void }[] = [];
  const log: Log = {
    event(name, fields, level) {
      events.push({ name, fields, level });
      for (const watcher of watchers) if (events.length >= watcher.count) watcher.resolve();
    },
    error: () => undefined,
  };
  const { resolver, watch } = createWatchedResolver({ servers, witness: OWN_NAME, clock, random: systemRandom, log });
  return {
    clock,
    events,
    resolver,
    watch,
    told: (count: number) =>
      events.length >= count ? Promise.resolve() : new Promise<void>((resolve) => watchers.push({ count, resolve })),
    [Symbol.dispose]() {
      watch.stop();
      resolver.close();
    },
  };
}

/** Where a name server was: nothing listens there. */
async function closedPort(): Promise<{ address: string; port: number }> {
  const server = await startFakeDns();
  await server.close();
  return { address: server.address, port: server.port };
}

test("while no server answers that is told once, with its beginning, and it ends with the first answer", async () => {
  const { address, port } = await closedPort();
  using on = watched([address]);
  expect(on.watch.issue).toBeNull();
  const since = on.clock.now();
  expect(await on.resolver.mx("example.com")).toMatchObject({ kind: "failed" });
  await on.told(1);
  expect(on.events).toMatchObject([
    { name: "dns.silent", level: "warn", fields: { reason: expect.stringContaining(address) } },
  ]);
  expect(on.watch.issue).toMatchObject({ component: "dns", since });
  // The reason is shown to anybody who asks /ready: it says what to do, and names no address of a server.
  expect(on.watch.issue!.reason).toStartWith("No DNS server answers (1 asked)");
  expect(on.watch.issue!.reason).not.toContain("127.0.0.1");
  await on.resolver.mx("example.com");
  expect(on.events).toHaveLength(1);

  const server = await listenForDns({
    host: "127.0.0.1",
    port,
    respond(message, transport, send) {
      const answer = answerMessage(message, transport, (name, type) => answerFromZone(ZONE, name, type));
      if (answer !== null) send(answer);
    },
  });
  on.clock.advance(AGAIN_MS);
  await on.told(2);
  expect(on.events[1]).toMatchObject({ name: "dns.recovered" });
  expect(on.watch.issue).toBeNull();
  await server.close();
});

test("one of two servers is enough", async () => {
  const { address } = await closedPort();
  await using other = await startFakeDns(ZONE);
  using on = watched([address, other.address]);
  expect(await on.resolver.a("example.com")).toMatchObject({ kind: "found" });
  expect(other.queries.map(({ name }) => name)).toEqual(["example.com"]);
  expect(on.watch.issue).toBeNull();
});

test("a server that answers that it cannot find out is no silence", async () => {
  await using server = await startFakeDns(ZONE, { "*": "servfail" });
  using on = watched([server.address]);
  expect(await on.resolver.a("example.com")).toMatchObject({ kind: "failed" });
  expect(server.queries.some(({ name }) => name === OWN_NAME)).toBe(false);
  expect(on.watch.issue).toBeNull();
});

test("a domain that the resolver works on for longer than we wait is not the silence of all", async () => {
  await using server = await startFakeDns(ZONE, { "slow.example": "silence" });
  using on = watched([server.address]);
  const lookup = on.resolver.a("slow.example");
  for (const round of [1, 2]) {
    await server.seen(round);
    on.clock.advance(5_000);
  }
  expect(await lookup).toMatchObject({ kind: "failed" });
  await server.seen(3);
  expect(server.queries[2]).toMatchObject({ name: OWN_NAME, type: "A" });
  // The witness's answer comes before that of whoever asks after it.
  expect(await on.resolver.fresh(0).a("example.com")).toMatchObject({ kind: "found" });
  expect(on.watch.issue).toBeNull();
  expect(on.events).toEqual([]);
});

test("closing the resolver is no silence", async () => {
  await using server = await startFakeDns(ZONE, { "*": "silence" });
  using on = watched([server.address]);
  const lookup = on.resolver.a("example.com");
  await server.seen(1);
  on.resolver.close();
  expect(await lookup).toMatchObject({ kind: "failed" });
  expect(on.watch.issue).toBeNull();
  expect(on.events).toEqual([]);
});
