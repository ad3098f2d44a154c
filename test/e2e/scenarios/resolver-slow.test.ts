// A resolver that is slow, silent or dead, for one domain or altogether: whose mail does not need its
// answer does not wait for it, and a second resolver that is well makes the first one's death a matter
// of seconds, once.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type DnsFault, startFakeDns } from "../../support/fakes/dns-server.ts";
import { within } from "./child.ts";
import { attemptsOf } from "./mail.ts";
import {
  BAD_DOMAIN,
  BAD_HOST,
  badRecords,
  copiesOf,
  expectDeliveredOnceMended,
  expectHealthyDelivered,
  expectNothingLeft,
  LIMIT_MS,
  passAttempts,
  sendRounds,
  standstill,
  startStreet,
  type Street,
} from "./street.ts";

setDefaultTimeout(60_000);

/** src/protocols/dns/client.ts gives a server this long for one try. */
const TRY_MS = 5_000;

const SLOW: { what: string; fault: DnsFault; reason: RegExp }[] = [
  { what: "never answers", fault: "silence", reason: /did not answer within 5 s/ },
  {
    what: "sends half an answer and is mute over TCP",
    fault: "truncated_tcp_silence",
    reason: /did not answer within 5 s/,
  },
  { what: "fails", fault: "servfail", reason: /answered SERVFAIL/ },
  { what: "answers rubbish", fault: "garbage", reason: /sent a malformed answer/ },
];

for (const { what, fault, reason } of SLOW) {
  for (const name of [BAD_DOMAIN, BAD_HOST]) {
    test(`while DNS ${what} about ${name}, that mail waits, nobody else's does, and it goes when DNS is well`, async () => {
      await using street = await startStreet();
      street.pombo.dns.faults[name] = fault;
      await sendRounds(street);
      await expectHealthyDelivered(street);
      await passAttempts(street, { otherwiseMs: TRY_MS });
      for (const email of await badRecords(street)) {
        expect(email).toMatchObject({ status: "delivery_delayed", attempts: 1, bounce: null, sentAt: null });
        expect(email.lastReply).toMatch(reason);
        expect(attemptsOf(street.pombo, email.id)).toMatchObject([{ stage: "dns", category: "no_answer" }]);
      }
      expect(street.bad.connections).toEqual([]);
      street.pombo.dns.faults = {};
      await expectDeliveredOnceMended(street);
      await expectNothingLeft(street);
    });
  }
}

test("a resolver that takes nine seconds over each answer about one domain delays that mail only, and its late answers are nobody's", async () => {
  await using street = await startStreet();
  const { pombo } = street;
  pombo.dns.hold = (send) => void pombo.clock.after(9_000, send);
  for (const name of [BAD_DOMAIN, BAD_HOST]) pombo.dns.faults[name] = "slow";
  await sendRounds(street);
  await expectHealthyDelivered(street);
  // Two tries of five seconds each: the answer to the first comes within the second, to a closed port.
  await passAttempts(street, { otherwiseMs: TRY_MS });
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivery_delayed", attempts: 1, bounce: null });
    expect(email.lastReply).toMatch(/^MX bad\.test: .* did not answer within 5 s$/);
  }
  pombo.dns.faults = {};
  await expectDeliveredOnceMended(street);
  await expectNothingLeft(street);
});

for (const { what, isClosed, costMs } of [
  { what: "is gone", isClosed: true, costMs: 0 },
  { what: "is mute", isClosed: false, costMs: TRY_MS },
]) {
  test(`when the first of two resolvers ${what}, mail goes on over the second, after ${costMs / 1_000} s in all`, async () => {
    const first = await startFakeDns({}, { "*": "silence" });
    if (isClosed) await first.close();
    try {
      await using street = await startStreet();
      const { pombo } = street;
      pombo.config.dns.servers.unshift(first.address);
      await pombo.restart();
      const startedAt = pombo.clock.now();
      const sending = sendRounds(street);
      if (!isClosed) {
        // The start's own question, and the first of the mail.
        await first.seen(2);
        await standstill(pombo, () => []);
        pombo.clock.advance(TRY_MS);
      }
      await sending;
      await expectHealthyDelivered(street);
      await within(LIMIT_MS, "rest", pombo.app.worker.idle());
      expect(pombo.clock.now() - startedAt).toBe(costMs);
      for (const email of await badRecords(street)) expect(email).toMatchObject({ status: "delivered", attempts: 1 });
      expect(copiesOf(street.bad)).toEqual(new Map(street.badIds.map((id) => [id, 1])));
      await expectNothingLeft(street);
    } finally {
      if (!isClosed) await first.close();
    }
  });
}

/** More domains than the worker works on at once, each with so many mail hosts that their look-ups come to thousands. */
const MUTE = { domains: 150, hosts: 20 };
/** Four look-ups each, and fewer requests than `fetch` makes at once. */
const CHECKS = 120;
const MUTE_DOMAINS = 30;

test("one workspace's mail to domains with many mail hosts that DNS is mute about does not hold up another's look-ups", async () => {
  await using street = await startStreet({
    configure(config) {
      config.email.maxSessions = 200;
      config.email.sessionsPerDestination = 20;
    },
  });
  const { pombo } = street;
  const emails = Array.from({ length: MUTE.domains }, (_, index) => {
    const hosts = Array.from({ length: MUTE.hosts }, (_unused, nth) => `mx${nth}.mute${index}.test`);
    pombo.dns.zone[`mute${index}.test`] = { MX: hosts.map((host) => [10, host]) };
    for (const host of hosts) pombo.dns.faults[host] = "silence";
    return pombo.email({ to: `maria@mute${index}.test` });
  });
  for (let from = 0; from < emails.length; from += 50) {
    const body = { emails: emails.slice(from, from + 50) };
    expect((await pombo.workspace.call("POST", "/api/v1/emails/batch", { body })).status).toBe(202);
  }
  await standstill(pombo, () => []);
  expect(pombo.dns.queries.filter(({ name }) => pombo.dns.faults[name] === "silence").length).toBeGreaterThan(200);
  await expectOtherDelivered(street);
});

test("checks of a domain that DNS is mute about, by the hundred, do not hold up the mail's look-ups", async () => {
  await using street = await startStreet();
  const { pombo } = street;
  const paths: string[] = [];
  for (let number = 0; number < MUTE_DOMAINS; number += 1) {
    const body = { domain: `mute${number}.test` };
    const created = await pombo.workspace.call("POST", "/api/v1/domains", { body });
    const { id, dns: records } = created.body.data;
    for (const { name } of [...records.dkim, records.spf, records.dmarc]) pombo.dns.faults[name] = "silence";
    paths.push(`/api/v1/domains/${id}/verification-checks`);
  }
  // They end with the instance. Those of one domain share its look-ups.
  const checks = Array.from({ length: CHECKS }, (_, index) =>
    pombo.workspace.call("POST", paths[index % paths.length] ?? ""),
  );
  void Promise.allSettled(checks);
  await pombo.dns.seen(4 * MUTE_DOMAINS);
  await standstill(pombo, () => []);
  await expectOtherDelivered(street);
});

/** An email of the other workspace, which needs look-ups, is delivered while no time passes. */
async function expectOtherDelivered({ pombo, other }: Street): Promise<void> {
  const body = pombo.email({ from: "a@outra.test" });
  expect((await other.call("POST", "/api/v1/emails", { body })).status).toBe(202);
  await within(
    LIMIT_MS,
    "the other's mail",
    pombo.mx.until(() => pombo.mx.messages.length === 1),
  );
}
