// The servers of a resolv.conf: a real file, replaced as resolvconf, DHCP clients and people do it.

import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createResolver } from "../../../../src/protocols/dns/client.ts";
import { openSystemServers } from "../../../../src/protocols/dns/system-servers.ts";
import { defaultConfig } from "../../../../src/config/config.ts";
import type { LogFields } from "../../../../src/platform/log.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { answerMessage, type DnsServer, listenForDns } from "../../../../src/sandbox/dns/server.ts";
import { openResolvers } from "../../../../src/server/resolvers.ts";
import { createManualClock } from "../../../support/dns/manual-clock.ts";
import { answerFromZone } from "../../../support/fakes/zone.ts";

const NAME = "example.com";
const READ_AGAIN_MS = 5_000;

function temporaryFile() {
  const folder = mkdtempSync(join(tmpdir(), "pombo-resolv-"));
  const file = join(folder, "resolv.conf");
  const clock = createManualClock();
  const events: { name: string; fields: LogFields | undefined; level: string | undefined }[] = [];
  const log = {
    event: (name: string, fields?: LogFields, level?: string) => void events.push({ name, fields, level }),
    error: (_where: string, error: unknown) => expect(error).toBeUndefined(),
  };
  return {
    file,
    clock,
    log,
    events,
    write: (text: string) => writeFileSync(file, text),
    /** As programs do it: the old one is there until the new one is. */
    replace(text: string) {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
      clock.advance(READ_AGAIN_MS);
    },
    remove: () => rmSync(file, { force: true }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

/** The address says which server answered. */
function startServer(host: string, port: number, respond?: (send: () => void) => void): Promise<DnsServer> {
  return listenForDns({
    host,
    port,
    respond(message, transport, send) {
      const zone = { [NAME]: { A: [host] }, "other.example": { A: [host] } };
      const answer = answerMessage(message, transport, (name, type) => answerFromZone(zone, name, type));
      if (answer === null) return;
      if (respond === undefined) send(answer);
      else respond(() => send(answer));
    },
  });
}

test("it names up to three servers, and without one the local one is asked", () => {
  using of = temporaryFile();
  of.write("# comment\nnameserver 9.9.9.9\nsearch example.com\n nameserver  2620:fe::fe\nnameserver nonsense\n");
  const labels = () => openSystemServers(of)().map(({ label }) => label);
  expect(labels()).toEqual(["9.9.9.9:53", "[2620:fe::fe]:53"]);
  of.write([1, 2, 3, 4].map((nth) => `nameserver 192.0.2.${nth}\n`).join(""));
  expect(labels()).toEqual(["192.0.2.1:53", "192.0.2.2:53", "192.0.2.3:53"]);
  of.remove();
  expect(labels()).toEqual(["127.0.0.1:53"]);
  expect(of.events).toEqual([]);
});

test("it is read again after five seconds, and one without servers changes nothing and is logged once", () => {
  using of = temporaryFile();
  of.write("nameserver 192.0.2.1\n");
  const servers = openSystemServers(of);
  const labels = () => servers().map(({ label }) => label);
  const first = servers();
  of.write("nameserver 192.0.2.2\n");
  of.clock.advance(READ_AGAIN_MS - 1);
  expect(servers()).toBe(first);
  of.clock.advance(1);
  expect(labels()).toEqual(["192.0.2.2:53"]);
  const changed = { name: "dns.servers_changed", fields: { file: of.file, servers: "192.0.2.2" }, level: undefined };
  expect(of.events).toEqual([changed]);

  for (const text of ["", "search example.com\n", "nameserver nonsense\n"]) {
    of.replace(text);
    expect(labels()).toEqual(["192.0.2.2:53"]);
  }
  of.remove();
  of.clock.advance(READ_AGAIN_MS);
  expect(labels()).toEqual(["192.0.2.2:53"]);
  const kept = { file: of.file, reason: "it names no server", servers: "192.0.2.2" };
  expect(of.events).toEqual([changed, { name: "dns.servers_unreadable", fields: kept, level: "warn" }]);

  // There again as it was.
  of.replace("nameserver 192.0.2.2\noptions edns0\n");
  expect(labels()).toEqual(["192.0.2.2:53"]);
  expect(of.events).toHaveLength(2);
  of.remove();
  mkdirSync(of.file);
  of.clock.advance(READ_AGAIN_MS);
  expect(labels()).toEqual(["192.0.2.2:53"]);
  expect(of.events[2]?.fields).toMatchObject({ reason: "it cannot be read (EISDIR)" });
});

test("a link that is replaced by one to another file counts", () => {
  using of = temporaryFile();
  const link = `${of.file}.link`;
  of.write("nameserver 192.0.2.1\n");
  symlinkSync(of.file, link);
  const servers = openSystemServers({ ...of, file: link });
  writeFileSync(`${of.file}.other`, "nameserver 192.0.2.7\n");
  symlinkSync(`${of.file}.other`, `${link}.new`);
  renameSync(`${link}.new`, link);
  of.clock.advance(READ_AGAIN_MS);
  expect(servers().map(({ label }) => label)).toEqual(["192.0.2.7:53"]);
});

test("a running resolver asks the new server; what is under way ends with the old one's answer", async () => {
  using of = temporaryFile();
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<() => void>();
  const one = await startServer("127.0.0.1", 0, isAsked);
  const two = await startServer("127.0.0.2", one.port);
  of.write("nameserver 127.0.0.1\n");
  const servers = openSystemServers({ ...of, port: one.port });
  const resolver = createResolver({ servers, clock: createManualClock(), random: systemRandom });
  const early = resolver.a(NAME);
  const answer = await asked;

  of.replace("nameserver 127.0.0.2\nnameserver 127.0.0.1\n");
  expect(await resolver.a("other.example")).toMatchObject({ kind: "found", records: ["127.0.0.2"] });
  expect(resolver.serverCount).toBe(2);
  answer();
  expect(await early).toMatchObject({ kind: "found", records: ["127.0.0.1"] });
  resolver.close();
  await Promise.all([one.close(), two.close()]);
});

test("after the usual server was another, the new ones are asked from the first on", async () => {
  using of = temporaryFile();
  const two = await startServer("127.0.0.2", 0);
  // Nothing listens on the first, so the second becomes the usual one.
  of.write("nameserver 127.0.0.1\nnameserver 127.0.0.2\n");
  const servers = openSystemServers({ ...of, port: two.port });
  const resolver = createResolver({ servers, clock: createManualClock(), random: systemRandom });
  expect(await resolver.a(NAME)).toMatchObject({ records: ["127.0.0.2"] });
  const three = await startServer("127.0.0.3", two.port);
  of.replace("nameserver 127.0.0.3\nnameserver 127.0.0.2\n");
  expect(await resolver.a("other.example")).toMatchObject({ records: ["127.0.0.3"] });
  resolver.close();
  await Promise.all([two.close(), three.close()]);
});

test("each resolver of the instance follows the file, unless the configuration names servers", async () => {
  using of = temporaryFile();
  const one = await startServer("127.0.0.1", 0);
  const two = await startServer("127.0.0.2", one.port);
  of.write("nameserver 127.0.0.1\n");
  const config = defaultConfig({ hostname: "mail.example.net", dataDir: "/nowhere" });
  const environment = { clock: createManualClock(), steady: of.clock, random: systemRandom, log: of.log };
  const open = (servers: string[]) =>
    openResolvers({ ...config, dns: { servers } }, environment, { file: of.file, port: one.port });
  const [system, named] = [open([]), open([one.address])];
  of.replace("nameserver 127.0.0.2\n");
  for (const resolvers of [system, named]) {
    const { resolver, checkResolver, callResolver } = resolvers;
    const found = await Promise.all([resolver, checkResolver, callResolver].map((each) => each.a(NAME)));
    const address = resolvers === system ? "127.0.0.2" : "127.0.0.1";
    expect(found).toMatchObject(found.map(() => ({ kind: "found", records: [address] })));
    resolvers.close();
  }
  expect(of.events.map(({ name }) => name)).toEqual(["dns.servers_changed"]);
  await Promise.all([one.close(), two.close()]);
});

test("an outage ends when the file names a server that answers", async () => {
  using of = temporaryFile();
  const two = await startServer("127.0.0.2", 0);
  of.write("nameserver 127.0.0.1\n");
  const config = defaultConfig({ hostname: NAME, dataDir: "/nowhere" });
  const environment = { clock: of.clock, random: systemRandom, log: of.log };
  const resolvers = openResolvers(config, environment, { file: of.file, port: two.port });
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const { promise: isSilent, resolve: begin } = Promise.withResolvers<void>();
  const { event } = of.log;
  of.log.event = (name, ...rest) => {
    event(name, ...rest);
    if (name === "dns.silent") begin();
    if (name === "dns.recovered") end();
  };
  resolvers.watch.start();
  await isSilent;
  expect(resolvers.watch.issue).toMatchObject({ component: "dns" });
  of.replace("nameserver 127.0.0.2\n");
  await isOver;
  expect(resolvers.watch.issue).toBeNull();
  expect(of.events.map(({ name }) => name)).toEqual(["dns.silent", "dns.servers_changed", "dns.recovered"]);
  resolvers.watch.stop();
  resolvers.close();
  await two.close();
});
