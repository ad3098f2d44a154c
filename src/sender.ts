import type { Edges } from "./app.ts";
import type { Config, SiteConfig } from "./config.ts";
import type { Committer } from "./db/commit.ts";
import type { DiskGuard } from "./db/guard.ts";
import type { DnsClient } from "./dns/client.ts";
import { openKeychain } from "./domains/keychain.ts";
import type { DomainStore } from "./domains/store.ts";
import type { Composer } from "./emails/composer.ts";
import { emailHandler } from "./emails/deliver.ts";
import type { TellOfEmail } from "./emails/facts.ts";
import { RefusalWatch } from "./emails/refusals.ts";
import type { FindRelay } from "./emails/relay.ts";
import type { EmailStore } from "./emails/store.ts";
import type { Keyring } from "./keyring/seal.ts";
import { redact } from "./log.ts";
import { parseRanges } from "./net/address.ts";
import { ownAddresses, requireSources } from "./own-addresses.ts";
import type { QueueStore } from "./queue/store.ts";
import { Worker } from "./queue/worker.ts";
import { SessionPool } from "./smtp/pool.ts";
import { PROVIDERS, type SiteRules } from "./smtp/providers.ts";
import { DEFAULT_TIMEOUTS } from "./smtp/session.ts";
import { Sites } from "./smtp/sites.ts";
import { SessionSlots } from "./smtp/slots.ts";
import { tlsPolicyBy } from "./smtp/tls-policy.ts";
import type { SuppressionStore } from "./suppressions/store.ts";

// The sending half of the composition root: worker, sites, sessions and the handler of an attempt.

/** Messages of one lane worked on per session that it may have: one in transmission, one being composed and signed. */
const LANE_JOBS_PER_SESSION = 2;

interface SenderStores {
  emails: EmailStore;
  queue: QueueStore;
  domains: DomainStore;
  suppressions: SuppressionStore;
}

function toRules({ mx, maxSessions, messagesPerSession, tlsRequired }: SiteConfig): SiteRules {
  const orNull = (count: number) => (count === 0 ? null : count);
  return {
    name: mx[0] ?? "",
    mx,
    maxSessions: orNull(maxSessions),
    messagesPerSession: orNull(messagesPerSession),
    isTlsRequired: tlsRequired,
  };
}

export interface SenderParts {
  config: Config;
  edges: Edges;
  stores: SenderStores;
  keyring: Keyring;
  committer: Committer;
  guard: DiskGuard;
  resolver: DnsClient;
  findRelay: FindRelay;
  composer: Composer;
  tellOfEmail: TellOfEmail;
}

/** Builds what sends email; nothing begins to act before the worker is started. Throws StartError. */
export function buildSender(parts: SenderParts) {
  const { config, edges, stores, committer, guard } = parts;
  const { clock, random, log } = edges;
  const { email, hostname } = config;
  requireSources(email);
  const keychain = openKeychain(stores.domains, parts.keyring);
  const rules = [...config.site.map(toRules), ...PROVIDERS];
  const pool = new SessionPool({
    clock,
    heloName: hostname,
    localAddress: email.sourceIpv4,
    localIpv6: email.sourceIpv6,
    findTlsPolicy: tlsPolicyBy(rules),
    port: email.destinationPort,
    timeouts: edges.timeouts ?? DEFAULT_TIMEOUTS,
  });
  const sites = new Sites({
    clock,
    maxSessions: email.sessionsPerDestination,
    rules,
    tell: (site, block) =>
      block === null
        ? log.event("site.open", { site })
        : log.event("site.blocked", { site, until: new Date(block.until).toISOString(), reason: block.reason }),
  });
  const slots = new SessionSlots({ perSite: (site) => sites.sessionsOf(site), total: email.maxSessions });
  const handler = emailHandler({
    ...stores,
    keychain,
    composer: parts.composer,
    resolver: parts.resolver,
    pool,
    sites,
    slots,
    refusals: new RefusalWatch(),
    allowed: parseRanges(email.allowAddresses),
    findRelay: parts.findRelay,
    tellOfEmail: parts.tellOfEmail,
    own: { names: [hostname, email.bounceHost], addresses: ownAddresses() },
    isIpv6Ready: email.sourceIpv6 !== null,
    clock,
    random,
    hostname,
    log,
    show: config.log.addresses === "full" ? (words) => words : redact,
  });
  const worker = new Worker({
    queue: stores.queue,
    handler,
    commit: committer.commit,
    guard,
    clock,
    random,
    log,
    scheduleMs: email.retryMs,
    // No more than sessions: a job that waits for one must not take the place of one that would not.
    maxJobs: email.maxSessions,
    maxJobsPerLane: email.sessionsPerDestination * LANE_JOBS_PER_SESSION,
    gate: {
      jobsOf: (site) => sites.sessionsOf(site) * LANE_JOBS_PER_SESSION,
      blockedUntil: (site) => sites.blockOf(site)?.until ?? null,
    },
  });
  return { worker, pool, slots, sites, keychain };
}
