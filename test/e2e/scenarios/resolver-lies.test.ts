// A resolver that lies: to everybody, and then nothing is believed that it says against a domain; or
// about one domain, and then that domain's mail alone waits, and goes nowhere it must not.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type DnsFault, startFakeDns } from "../../support/fakes/dns-server.ts";
import { HOSTNAME, type Json } from "../../support/fakes/instance.ts";
import { startMx } from "../../support/fakes/mx.ts";
import type { ZoneNode } from "../../support/fakes/zone.ts";
import { attemptsOf, HOUR_MS, MINUTE_MS, pass, record, send, startStill, suppressedAddresses } from "./mail.ts";
import {
  BAD_ADDRESS,
  BAD_DOMAIN,
  BAD_HOST,
  badRecords,
  copiesOf,
  expectDeliveredOnceMended,
  expectHealthyDelivered,
  expectNothingLeft,
  passAttempts,
  sendRounds,
  startStreet,
} from "./street.ts";

setDefaultTimeout(60_000);

const DOMAINS = ["one.example", "two.example", "three.example"];
/** Many times what makes a missing domain believed, and less than an email's life. */
const LIES_MS = 6 * HOUR_MS;

const LIES: { what: string; fault: DnsFault; servers: number; reason: RegExp }[] = [
  { what: "NXDOMAIN to everything", fault: "no_name", servers: 1, reason: /does not exist; DNS will be asked again/ },
  { what: "NXDOMAIN to everything", fault: "no_name", servers: 2, reason: /does not exist/ },
  { what: "a portal's address to everything", fault: "portal", servers: 2, reason: /10\.0\.0\.1 is a private address/ },
  { what: "SERVFAIL to everything", fault: "servfail", servers: 2, reason: /answered SERVFAIL/ },
  { what: "rubbish to everything", fault: "garbage", servers: 2, reason: /sent a malformed answer/ },
  { what: "referrals to everything", fault: "referral", servers: 1, reason: /does not resolve names for us/ },
];

for (const { what, fault, servers, reason } of LIES) {
  test(`${servers === 1 ? "one resolver that says" : "two resolvers that both say"} ${what}, for hours, bounce and suppress nothing`, async () => {
    await using second = await startFakeDns({}, { "*": fault });
    await using pombo = await startStill({
      retryMs: [7 * MINUTE_MS],
      configure: (config) => void (servers === 2 && config.dns.servers.push(second.address)),
    });
    for (const domain of DOMAINS) pombo.dns.zone[domain] = { MX: [[10, "mx.example.com"]] };
    pombo.dns.faults["*"] = fault;
    const ids: string[] = [];
    const records = (): Promise<Json[]> => Promise.all(ids.map((id) => record(pombo, id)));
    for (let passed = 0; passed < LIES_MS; passed += 20 * MINUTE_MS) {
      for (const domain of DOMAINS) ids.push(await send(pombo, `user${ids.length}@${domain}`));
      await pass(pombo, 0);
      for (const email of await records()) {
        expect(email).toMatchObject({ status: "delivery_delayed", bounce: null, sentAt: null });
        expect(email.lastReply).toMatch(reason);
      }
      for (let minutes = 0; minutes < 20; minutes += 5) await pass(pombo, 5 * MINUTE_MS);
    }
    expect(suppressedAddresses(pombo)).toEqual([]);

    delete pombo.dns.faults["*"];
    delete second.faults["*"];
    second.zone = pombo.dns.zone;
    for (let minutes = 0; minutes < 30; minutes += 5) await pass(pombo, 5 * MINUTE_MS);
    for (const email of await records()) expect(email).toMatchObject({ status: "delivered", possibleDuplicate: false });
    expect(copiesOf(pombo.mx)).toEqual(new Map(ids.map((id) => [id, 1])));
    expect(suppressedAddresses(pombo)).toEqual([]);
    expect(pombo.bugs).toEqual([]);
  });
}

for (const fault of ["wrong_id", "wrong_question"] as const) {
  test(`a forger who is quicker than the resolver, with the ${fault.replace("_", " ")}, leads no mail astray`, async () => {
    await using street = await startStreet();
    const { pombo } = street;
    for (const name of [BAD_DOMAIN, BAD_HOST, "example.com", "mx.example.com"]) pombo.dns.faults[name] = fault;
    await sendRounds(street);
    await expectHealthyDelivered(street);
    await pombo.app.worker.idle();
    for (const email of await badRecords(street)) expect(email).toMatchObject({ status: "delivered", attempts: 1 });
    const addresses = pombo.app.db.sqlite.query<{ address: string }, []>("SELECT DISTINCT address FROM attempt").all();
    expect(addresses.map(({ address }) => address).sort()).toEqual([pombo.mx.address, BAD_ADDRESS]);
    expect(copiesOf(street.bad)).toEqual(new Map(street.badIds.map((id) => [id, 1])));
    await expectNothingLeft(street);
  });
}

/** Somebody listens at the first: what must not be connected to is not merely missing. */
const TRAP = "127.0.0.9";
const TRAPS: { what: string; host: ZoneNode; reason: string }[] = [
  { what: "a loopback address", host: { A: [TRAP] }, reason: `${TRAP} is a loopback address` },
  { what: "this network's zero", host: { A: ["0.0.0.0"] }, reason: "0.0.0.0 is an unspecified address" },
  { what: "a private address", host: { A: ["10.0.0.1"] }, reason: "10.0.0.1 is a private address" },
  { what: "the cloud's metadata", host: { A: ["169.254.169.254"] }, reason: "169.254.169.254 is a link-local address" },
  { what: "IPv6 loopback", host: { AAAA: ["::1"] }, reason: "::1 is a loopback address" },
  {
    what: "a loopback address in IPv6's clothes",
    host: { AAAA: [`::ffff:${TRAP}`] },
    reason: "::ffff:7f00:9 is a loopback address",
  },
];

for (const { what, host, reason } of TRAPS) {
  test(`a mail host at ${what} is not connected to: its mail waits with the reason, and nobody else's does`, async () => {
    // Only the two neighbours' own addresses are allowed here.
    await using street = await startStreet({
      configure: (config) => void (config.email.allowPrivateRanges = ["127.0.0.1/32", `${BAD_ADDRESS}/32`]),
    });
    const trap = await startMx({}, { address: TRAP, port: street.pombo.mx.port });
    try {
      street.pombo.dns.zone[BAD_HOST] = host;
      await sendRounds(street);
      await expectHealthyDelivered(street);
      await passAttempts(street);
      for (const email of await badRecords(street)) {
        expect(email).toMatchObject({ status: "delivery_delayed", bounce: null, lastReply: `${BAD_HOST}: ${reason}` });
        expect(attemptsOf(street.pombo, email.id)).toMatchObject([{ stage: "dns", category: "no_answer" }]);
      }
      expect([...trap.connections, ...street.bad.connections]).toEqual([]);
      street.pombo.dns.zone[BAD_HOST] = { A: [BAD_ADDRESS] };
      await expectDeliveredOnceMended(street);
      expect(trap.connections).toEqual([]);
      await expectNothingLeft(street);
    } finally {
      await trap.close();
    }
  });
}

test("a domain whose MX is this very instance, or lists it first, gets no mail sent in a circle (R8)", async () => {
  await using street = await startStreet();
  const { pombo } = street;
  pombo.dns.zone[BAD_DOMAIN] = {
    MX: [
      [10, HOSTNAME],
      [20, BAD_HOST],
    ],
  };
  await sendRounds(street);
  await expectHealthyDelivered(street);
  await passAttempts(street);
  for (const email of await badRecords(street)) {
    const lastReply = `the MX records of ${BAD_DOMAIN} lead back to this server`;
    expect(email).toMatchObject({ status: "delivery_delayed", bounce: null, lastReply });
  }
  // HOSTNAME is at the healthy one's address: nothing of the other's has come there.
  expect(pombo.mx.messages).toHaveLength(street.healthyIds.length);
  // We are the lesser of the two now, as a backup is.
  pombo.dns.zone[BAD_DOMAIN] = {
    MX: [
      [10, BAD_HOST],
      [20, HOSTNAME],
    ],
  };
  await expectDeliveredOnceMended(street);
  await expectNothingLeft(street);
});
