// The doctor and the alerts together, on one clock: what got worse is told once with its step, what got well ends it.

import { expect, test } from "bun:test";
import { defaultConfig } from "../../../src/config/config.ts";
import { Notifier } from "../../../src/modules/alerts/notifier.ts";
import { openAlertStore } from "../../../src/modules/alerts/store.ts";
import { listTargets } from "../../../src/modules/alerts/targets.ts";
import { createDoctor } from "../../../src/modules/doctor/index.ts";
import type { InstanceView } from "../../../src/modules/doctor/world.ts";
import type { DomainStore } from "../../../src/modules/domains/store.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { HealthIssue } from "../../../src/platform/health-issue.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { parseServer } from "../../../src/protocols/dns/servers.ts";
import { createDoctorSource } from "../../../src/server/doctor-troubles.ts";
import { temporaryDatabase } from "../../support/db/temporary.ts";
import { NO_MAIL, NO_STORES, NOTHING_SENT, noCommit } from "../../support/doctor/no-mail.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { startFakeDns } from "../../support/fakes/dns-server.ts";
import { createFakeResolver } from "../../support/fakes/resolver.ts";

const HOUR_MS = 3_600_000;
const HOST = "mail.pombo.test";
const IPV4 = "203.0.113.7";
const DOMAIN = "loja.example";
const LISTED = "7.113.0.203.zen.spamhaus.org";

interface Mail {
  to: string;
  subject: string;
  text: string;
}

async function openWorld() {
  const database = temporaryDatabase();
  const dns = await startFakeDns();
  const clock = fakeClock();
  const resolver = createFakeResolver({
    [HOST]: { A: [IPV4], TXT: [`v=spf1 ip4:${IPV4} -all`] },
    "7.113.0.203.in-addr.arpa": { PTR: [HOST] },
    "2.0.0.127.zen.spamhaus.org": { A: ["127.0.0.2"] },
    "dbltest.com.dbl.spamhaus.org": { A: ["127.0.1.2"] },
    [`pombo1._domainkey.${DOMAIN}`]: { TXT: ["v=DKIM1; k=rsa; p=AAAA"] },
    [`pombo2._domainkey.${DOMAIN}`]: { TXT: ["v=DKIM1; k=ed25519; p=BBBB"] },
    [`_dmarc.${DOMAIN}`]: { TXT: [`v=DMARC1; p=reject; rua=mailto:d@${DOMAIN}`] },
    [`bounce.${DOMAIN}`]: { CNAME: HOST },
    [DOMAIN]: { A: ["203.0.113.1"] },
  });
  const config = defaultConfig({ hostname: HOST, dataDir: "/var/lib/pombo" });
  Object.assign(config.doctor, { probes: [], timeServer: null, blockLists: ["zen.spamhaus.org"] });
  Object.assign(config.email, { sourceIpv4: IPV4, allowPrivateRanges: ["203.0.113.0/24"] });
  config.inbound.listen = null;
  const row = { id: 1, uid: "d1", name: DOMAIN, status: "verified", verifiedAt: 0 };
  const store = {
    listEverywhere: () => [row],
    verified: (name: string) => (name === DOMAIN ? row : undefined),
    listKeys: () => [
      { selector: "pombo1", algorithm: "rsa-sha256", publicKey: "AAAA" },
      { selector: "pombo2", algorithm: "ed25519-sha256", publicKey: "BBBB" },
    ],
  };
  const issues: HealthIssue[] = [];
  const bugs: unknown[] = [];
  const log = { event: () => undefined, error: (_: string, error: unknown) => void bugs.push(error) };
  const outbox: Mail[] = [];
  const view: InstanceView = {
    inbound: null,
    issues: () => issues,
    freeDiskBytes: 1024 ** 4,
    diskDaysLeft: null,
    replication: null,
    links: [],
    recoveryKey: { checkedAt: null, file: null },
    isReplaced: false,
    commits: { count: 0, p99Ms: null },
    descriptors: null,
    certificate: { isSelfMade: true, isPublic: false, endsAt: null, isLate: false },
    submission: [],
    tls: [],
  };
  /** A process begins: the database outlasts it, and what it saw does not. */
  const startProcess = () => {
    const doctor = createDoctor(
      { clock, steady: systemClock, random: systemRandom, log, commit: noCommit },
      {
        domains: store as unknown as DomainStore,
        ...NOTHING_SENT,
        ...NO_STORES,
      },
      config,
      { fresh: () => resolver, servers: () => [parseServer(dns.address)], ...NO_MAIL },
    );
    doctor.observe(() => view);
    const alerts = new Notifier({
      commit: database.committer.commit,
      clock,
      steady: clock,
      log,
      guard: { failure: null, whenOpen: () => () => undefined },
      store: openAlertStore(database.db),
      targets: listTargets([
        { kind: "email", least: "warning", from: null, route: null, to: ["me@example.org"] },
        { kind: "sms", least: "warning", from: "pombo", route: "vodacom", to: ["+258841234567"] },
      ]),
      sources: [createDoctorSource(doctor, () => issues)],
      outboxes: [],
      hostname: HOST,
      queueMail(mail) {
        outbox.push(mail);
        return "id";
      },
      sendSms({ to, text }) {
        outbox.push({ to, subject: "", text });
        return "id";
      },
    });
    void doctor.start();
    alerts.start();
    return { doctor, alerts };
  };
  let running = startProcess();
  const stop = () => Promise.all([running.doctor.stop(), running.alerts.stop()]);
  return {
    ...{ resolver, issues, bugs, clock },
    restart: async () => {
      await stop();
      running = startProcess();
    },
    /** Lets the time go on in the steps of the alerts; what was sent meanwhile. */
    async pass(ms: number): Promise<Mail[]> {
      for (let passed = 0; passed < ms; passed += 15_000) {
        clock.advance(15_000);
        await running.doctor.idle();
        await running.alerts.idle();
      }
      return outbox.splice(0);
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await dns.close();
      database[Symbol.dispose]();
    },
  };
}

const to = (mails: Mail[]) => mails.map((mail) => mail.to);
const SMS = "+258841234567";
const EMAIL = "me@example.org";

test("a domain's record that goes is told once with its step, and its return ends it", async () => {
  await using world = await openWorld();
  expect(await world.pass(1.5 * HOUR_MS)).toEqual([]);
  const { zone } = world.resolver;
  const record = zone[`pombo1._domainkey.${DOMAIN}`];
  delete zone[`pombo1._domainkey.${DOMAIN}`];
  const began = await world.pass(3 * HOUR_MS);
  expect(to(began).toSorted()).toEqual([SMS, EMAIL]);
  const [mail] = began.filter((each) => each.to === EMAIL);
  expect(mail?.text).toContain(`pombo1._domainkey.${DOMAIN}. 3600 IN TXT`);
  // Nobody can look: it is neither worse nor over.
  world.resolver.failures[`pombo1._domainkey.${DOMAIN}`] = "SERVFAIL";
  expect(await world.pass(3 * HOUR_MS)).toEqual([]);
  delete world.resolver.failures[`pombo1._domainkey.${DOMAIN}`];
  zone[`pombo1._domainkey.${DOMAIN}`] = record ?? {};
  const ended = await world.pass(1.5 * HOUR_MS);
  expect(to(ended).toSorted()).toEqual([SMS, EMAIL]);
  expect(world.bugs).toEqual([]);
});

test("an address that is listed is told by SMS at once, and by email when it is not listed any more", async () => {
  await using world = await openWorld();
  world.resolver.zone[LISTED] = { A: ["127.0.0.2"] };
  const began = await world.pass(0.5 * HOUR_MS);
  expect(to(began)).toEqual([SMS]);
  expect(began[0]?.text).toContain(IPV4);
  delete world.resolver.zone[LISTED];
  const ended = await world.pass(1.5 * HOUR_MS);
  expect(to(ended).toSorted()).toEqual([SMS, EMAIL]);
  expect(ended.find((each) => each.to === EMAIL)?.text).toContain("Spamhaus ZEN");
});

test("after a restart what was not looked at yet has not ended, and is not told again", async () => {
  await using world = await openWorld();
  delete world.resolver.zone[`pombo1._domainkey.${DOMAIN}`];
  expect(await world.pass(0.5 * HOUR_MS)).toHaveLength(2);
  // The DNS servers answer nothing of it for hours.
  world.resolver.failures[`pombo1._domainkey.${DOMAIN}`] = "SERVFAIL";
  await world.restart();
  expect(await world.pass(3 * HOUR_MS)).toEqual([]);
  delete world.resolver.failures[`pombo1._domainkey.${DOMAIN}`];
  expect(await world.pass(2 * HOUR_MS)).toEqual([]);
});

test("an issue of /ready is not told by the doctor too, nor is advice on the set-up", async () => {
  await using world = await openWorld();
  world.issues.push({ component: "dns", reason: "No DNS server answers", since: 0 });
  world.resolver.zone[`_dmarc.${DOMAIN}`] = { TXT: ["v=DMARC1; p=none"] };
  expect(await world.pass(2 * HOUR_MS)).toEqual([]);
});
