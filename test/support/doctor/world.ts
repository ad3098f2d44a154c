/**
 * The world that the doctor looks at, whole and well: a test breaks one thing in it. DNS answers come from a zone, the
 * DNS servers and the mail servers are real sockets on loopback.
 */
import dgram from "node:dgram";
import net from "node:net";
import { decode, encode } from "dns-packet";
import { type Config, defaultConfig } from "../../../src/config/config.ts";
import type { FindingId } from "../../../src/modules/doctor/catalog.ts";
import type { AttemptLook } from "../../../src/modules/doctor/lately/delivery-store.ts";
import type { DomainView } from "../../../src/modules/doctor/domain-view.ts";
import type { Finding } from "../../../src/modules/doctor/finding.ts";
import { examine } from "../../../src/modules/doctor/run.ts";
import type { CreditLook, SenderLook, SmsLook } from "../../../src/modules/doctor/lately/sms-store.ts";
import { openWorld } from "../../../src/modules/doctor/open-world.ts";
import type { InstanceView, World } from "../../../src/modules/doctor/world.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import type { Log } from "../../../src/platform/log.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { parseServer } from "../../../src/protocols/dns/servers.ts";
import { listenForDns } from "../../../src/sandbox/dns/server.ts";
import { makeReleaseKey } from "../fakes/release-key.ts";
import { createFakeResolver, type FakeResolver } from "../fakes/resolver.ts";
import type { Zone } from "../fakes/zone.ts";

export const HOST = "mail.pombo.test";
export const IPV4 = "203.0.113.7";
export const IPV6 = "2001:db8::7";
export const DOMAIN = "loja.example";
export const NOW = Date.UTC(2026, 10, 28);

const releaseKey = makeReleaseKey();
/** The signature of a release's executable, of which only the comment is looked at. */
export const signRelease = (version: string, by = releaseKey) =>
  by.sign(Buffer.from("executable"), `version:${version}\tfile:pombo-linux-x64`);

/** Longer than one string of a TXT record, as a key of 2,048 bits is. */
export const DKIM = `v=DKIM1; k=rsa; p=${"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A".repeat(12)}`;
const ED25519 = "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

function wellDomain(): DomainView {
  return {
    id: 1,
    name: DOMAIN,
    dkim: [
      { type: "TXT", name: `pombo1._domainkey.${DOMAIN}`, value: DKIM },
      { type: "TXT", name: `pombo2._domainkey.${DOMAIN}`, value: ED25519 },
    ],
    returnPath: { type: "CNAME", name: `bounce.${DOMAIN}`, value: HOST },
    dmarc: { type: "TXT", name: `_dmarc.${DOMAIN}`, value: "v=DMARC1; p=none; rua=mailto:dmarc@loja.example" },
    verifiedAt: NOW - 86_400_000,
  };
}

function wellZone(): Zone {
  return {
    [HOST]: { A: [IPV4], AAAA: [IPV6], TXT: [`v=spf1 ip4:${IPV4} ip6:${IPV6} -all`] },
    "7.113.0.203.in-addr.arpa": { PTR: [HOST] },
    "7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa": { PTR: [HOST] },
    "gmail.com": { MX: [[5, "mx.gmail.com"]] },
    "mx.gmail.com": { A: ["127.0.0.1"] },
    [`pombo1._domainkey.${DOMAIN}`]: { TXT: [DKIM] },
    [`pombo2._domainkey.${DOMAIN}`]: { TXT: [ED25519] },
    [`bounce.${DOMAIN}`]: { CNAME: HOST },
    [`_dmarc.${DOMAIN}`]: { TXT: ["v=DMARC1; p=none; rua=mailto:dmarc@loja.example"] },
    "2.0.0.127.zen.spamhaus.org": { A: ["127.0.0.2"] },
    "dbltest.com.dbl.spamhaus.org": { A: ["127.0.1.2"] },
    [DOMAIN]: { MX: [[10, `mx.${DOMAIN}`]] },
    [`mx.${DOMAIN}`]: { A: ["203.0.113.60"] },
  };
}

/** What a DNS server does with questions to itself. */
export type ServerMood = "validates" | "plain" | "servfail" | "mute" | "no_tcp";

/** What a mail server says at first, and to what begins with a word. */
export interface SmtpScript {
  greeting?: string | null;
  replies?: Record<string, string>;
}

export interface DoctorWorld extends AsyncDisposable {
  config: Config;
  dns: FakeResolver;
  /** Addresses that the kernel takes, by family. */
  routes: { 4: string | null; 6: string | null };
  ownAddresses: string[];
  domains: DomainView[];
  instance: InstanceView | null;
  mood: ServerMood;
  smtp: SmtpScript;
  /** Attempts of the last days, the newest first. */
  rows: AttemptLook[];
  complaints: { senderDomain: string; count: number }[];
  /** Of texts: the newest first. */
  sms: {
    messages: SmsLook[];
    credits: CreditLook[];
    senders: SenderLook[];
    /** By workspace: the senders of its newest SMS. */
    used: Record<number, string[]>;
    workspaces: Record<number, { uid: string; name: string; balance: number }>;
  };
  memoryBytes: number;
  build: World["build"];
  /** What the address of releases answers. */
  release: { status: number; body: string };
  /** What the registry answers. */
  rdap: { status: number; body: unknown };
  /** How far the NTP server is ahead of this clock; null: it says nothing. */
  timeOffsetMs: number | null;
  errors: unknown[];
  now: number;
  /** Questions of a run. */
  questions: number;
  signal: AbortSignal;
  /** Run when the world ends. */
  endings: (() => Promise<void>)[];
  run(only?: FindingId[]): Promise<Finding[]>;
  /** Runs for one finding; the worst of those with this id. */
  find(id: FindingId): Promise<Finding>;
}

export async function startWorld(): Promise<DoctorWorld> {
  const server = await listenForDns({
    host: "127.0.0.1",
    port: 0,
    respond(message, transport, send) {
      const { mood } = world;
      if (mood === "mute" || (mood === "no_tcp" && transport === "tcp")) return;
      const { id, questions } = decode(message);
      const isAuthenticated = mood !== "plain";
      const flags = 0x180 | (isAuthenticated ? 0x20 : 0) | (mood === "servfail" ? 2 : 0);
      send(encode({ type: "response", id: id ?? 0, flags, questions: questions ?? [] }));
    },
  });
  const smtp = await listenSmtp(() => world.smtp);
  const ntp = await listenNtp(() => (world.timeOffsetMs === null ? null : world.now + world.timeOffsetMs));
  const config = defaultConfig({ hostname: HOST, dataDir: "/var/lib/pombo" });
  config.email.destinationPort = smtp.port;
  config.email.allowPrivateRanges = ["127.0.0.0/8", "203.0.113.0/24", "2001:db8::/32"];
  config.doctor.blockLists = ["zen.spamhaus.org"];
  config.doctor.timeServer = { host: "127.0.0.1", port: ntp.port };
  config.doctor.probes = ["gmail.com"];
  config.doctor.releases = "https://releases.example/pombo/latest";
  config.inbound.listen = { address: "127.0.0.1", port: smtp.port };
  const dns = createFakeResolver(wellZone());
  const log: Log = { event: () => undefined, error: (_, error) => void world.errors.push(error) };
  const world: DoctorWorld = {
    config,
    dns,
    routes: { 4: IPV4, 6: null },
    ownAddresses: [IPV4, IPV6],
    domains: [wellDomain()],
    instance: {
      inbound: `127.0.0.1:${smtp.port}`,
      issues: () => [],
      freeDiskBytes: 50 * 1024 ** 3,
      diskDaysLeft: 400,
      replication: {
        state: "running",
        reason: null,
        lastAt: NOW - 5_000,
        drill: { at: NOW, outcome: "good", words: "", goodAt: NOW },
      },
      commits: { count: 20_000, p99Ms: 25 },
      descriptors: { open: 120, limit: 65_536 },
      certificate: { isSelfMade: false, isPublic: true, endsAt: NOW + 60 * 86_400_000, isLate: false },
      submission: [],
      tls: [],
      links: [{ route: "vodacom", isBound: true, lastEnd: null }],
      recoveryKey: { checkedAt: NOW - 86_400_000, file: "/var/lib/pombo/instance.key" },
      isReplaced: false,
    },
    build: { version: "0.2.0", releaseKey: releaseKey.publicKey, file: "pombo-linux-x64" },
    release: { status: 200, body: signRelease("0.2.0") },
    rows: wellRows(),
    complaints: [],
    sms: {
      messages: Array.from({ length: 50 }, (_, at) => sms(1_000 - at)),
      credits: Array.from({ length: 50 }, (_, at) => spent(1_000 - at, -2)),
      senders: [{ workspaceId: 1, workspaceUid: "w1", name: "Loja", createdAt: NOW - 90 * 86_400_000 }],
      used: { 1: ["Loja"] },
      workspaces: { 1: { uid: "w1", name: "Loja da Maria", balance: 5_000 } },
    },
    memoryBytes: 1024 ** 3,
    rdap: { status: 200, body: { events: [{ eventAction: "registration", eventDate: "2020-01-01T00:00:00Z" }] } },
    timeOffsetMs: 0,
    mood: "validates",
    smtp: {},
    errors: [],
    now: NOW,
    questions: 20_000,
    signal: new AbortController().signal,
    endings: [],
    async run(only) {
      const clock = { now: () => world.now, after: systemClock.after };
      const opened = await openWorld(
        config,
        {
          clock,
          steady: systemClock,
          random: systemRandom,
          fresh: () => dns.fresh(0),
          servers: () => [parseServer(server.address)],
          ownAddresses: () => world.ownAddresses,
          deliveries: {
            listBefore: (before, limit) => world.rows.filter(({ emailId }) => emailId < before).slice(0, limit),
            countComplaints: () => world.complaints,
          },
          sms: {
            listMessagesBefore: (before, limit) => world.sms.messages.filter(({ id }) => id < before).slice(0, limit),
            listCreditsBefore: (before, limit) => world.sms.credits.filter(({ id }) => id < before).slice(0, limit),
            findWorkspace: (id) => world.sms.workspaces[id] ?? null,
            listSenders: () => world.sms.senders,
            listUsedSenders: (id, limit) => (world.sms.used[id] ?? []).slice(0, limit),
          },
          memoryBytes: world.memoryBytes,
          build: world.build,
          fetch: (async (url: string | URL) =>
            String(url).endsWith(".minisig")
              ? new Response(world.release.body, { status: world.release.status })
              : Response.json(world.rdap.body, { status: world.rdap.status })) as unknown as typeof globalThis.fetch,
          findRoute: async (target) => world.routes[target.includes(":") ? 6 : 4],
        },
        {
          domains: world.domains,
          questions: world.questions,
          signal: world.signal,
          instance: world.instance,
          rdap: true,
        },
      );
      return await examine(opened, only ?? null, log);
    },
    async find(id) {
      const [first] = await world.run([id]);
      if (first === undefined) throw new Error(`nothing was said of ${id}`);
      return first;
    },
    async [Symbol.asyncDispose]() {
      for (const end of world.endings) await end();
      ntp.close();
      await smtp.close();
      await server.close();
    },
  };
  return world;
}

async function listenSmtp(script: () => SmtpScript) {
  const server = net.createServer((socket) => {
    let isLetter = false;
    const { greeting = `220 mx.gmail.com ESMTP`, replies = {} } = script();
    socket.on("error", () => undefined);
    if (greeting !== null) socket.write(`${greeting}\r\n`);
    socket.on("data", (chunk: Buffer) => {
      for (const line of chunk.toString().split("\r\n").slice(0, -1)) {
        if (isLetter && line !== ".") continue;
        isLetter = line === "DATA" && replies["DATA"] === undefined;
        const known = Object.entries(replies).find(([word]) => line.startsWith(word))?.[1];
        socket.write(
          `${known ?? (line.startsWith("EHLO") ? `250-mx at your service, [${IPV4}]\r\n250 SIZE` : isLetter ? "354 go on" : "250 OK")}\r\n`,
        );
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  return { port, close: () => new Promise<void>((resolve) => void server.close(() => resolve())) };
}

/** `getTime`: Unix ms; null: it says nothing. */
async function listenNtp(getTime: () => number | null) {
  const socket = dgram.createSocket("udp4");
  socket.on("message", (question, from) => {
    const at = getTime();
    if (at === null) return;
    const answer = Buffer.alloc(48);
    answer[0] = 0x24;
    answer[1] = 2;
    question.copy(answer, 24, 40, 48);
    for (const place of [32, 40]) {
      answer.writeUInt32BE(Math.floor(at / 1_000) + 2_208_988_800, place);
      answer.writeUInt32BE(Math.floor(((at % 1_000) / 1_000) * 2 ** 32), place + 4);
    }
    socket.send(answer, from.port, from.address);
  });
  await new Promise<void>((resolve) => void socket.bind(0, "127.0.0.1", resolve));
  return { port: socket.address().port, close: () => void socket.close() };
}

/** An attempt that delivered at once. */
export function attempt(emailId: number, changes: Partial<AttemptLook> = {}): AttemptLook {
  const createdAt = NOW - 3_600_000;
  return {
    emailId,
    number: 1,
    startedAt: createdAt,
    endedAt: createdAt + 2_000,
    host: "gmail-smtp-in.l.google.com",
    code: 250,
    enhancedCode: "2.0.0",
    reply: "OK",
    outcome: "delivered",
    category: null,
    senderDomain: DOMAIN,
    createdAt,
    ...changes,
  };
}

function wellRows(): AttemptLook[] {
  return Array.from({ length: 50 }, (_, at) => attempt(1_000 - at));
}

/** An SMS that arrived at once. */
export function sms(id: number, changes: Partial<SmsLook> = {}): SmsLook {
  const createdAt = NOW - 2 * 3_600_000;
  return {
    id,
    recipient: "+258841234567",
    createdAt,
    sentAt: createdAt + 500,
    deliveryState: "delivered",
    expectsReceipt: 1,
    receiptAt: createdAt + 4_500,
    ...changes,
  };
}

/** A change of the balance of the first workspace. */
export function spent(id: number, amount: number, changes: Partial<CreditLook> = {}): CreditLook {
  return { id, workspaceId: 1, kind: "reservation", amount, createdAt: NOW - 3_600_000, ...changes };
}

/** Does what a step says with the records in it, as the operator at the DNS provider would. */
export function carryOut(step: string, zone: Zone): void {
  for (const line of step.split("\n")) {
    const [, name, type, data = ""] = /^(\S+)\. 3600 IN (TXT|CNAME|A|AAAA|MX) (.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const { CNAME: _, ...node } = zone[name] ?? {};
    switch (type) {
      case "CNAME":
        zone[name] = { CNAME: data.replace(/\.$/, "") };
        break;
      case "TXT":
        zone[name] = { ...node, TXT: [[...data.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => text)] };
        break;
      case "MX": {
        const [preference, exchange = ""] = data.split(" ");
        zone[name] = { ...node, MX: [[Number(preference), exchange.replace(/\.$/, "")]] };
        break;
      }
      default:
        zone[name] = { ...node, [type as "A"]: [data] };
    }
  }
}
