import type { Environment } from "../platform/environment.ts";
import type { Config, SiteConfig } from "../config/config.ts";
import type { Committer } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { DnsClient } from "../protocols/dns/client.ts";
import { openKeychain } from "../modules/domains/signing-keys.ts";
import type { DomainStore } from "../modules/domains/store.ts";
import type { Composer } from "../modules/emails/content/compose-thread.ts";
import { emailHandler } from "../modules/emails/delivery/deliver.ts";
import type { TellOfEmail } from "../modules/emails/events.ts";
import { HeldQueueExpiry } from "../modules/emails/delivery/held-queue-expiry.ts";
import { ExpiryClock } from "../modules/emails/delivery/expiry-clock.ts";
import { MessageBudget, messageBudgetFor } from "../modules/emails/delivery/message-budget.ts";
import { RefusalWatch } from "../modules/emails/delivery/mass-refusals.ts";
import type { FindRelay } from "../modules/emails/delivery/relay.ts";
import type { RecordResultDeps } from "../modules/emails/delivery/record-result.ts";
import type { EmailStore } from "../modules/emails/store/store.ts";
import type { Keyring } from "../platform/keyring/keyring.ts";
import type { Log } from "../platform/log.ts";
import { usableMemory } from "../platform/memory-limit.ts";
import { parseRanges } from "../platform/ip/address.ts";
import { ownAddresses, requireSources } from "../platform/ip/own-addresses.ts";
import type { PauseView } from "../platform/queue/delivery-pause.ts";
import type { QueueStore } from "../modules/emails/queue/store.ts";
import type { SiteLimits } from "../platform/queue/site-limits.ts";
import { Worker } from "../platform/queue/worker.ts";
import { SessionPool } from "../protocols/smtp/session-pool.ts";
import { PROVIDERS, type SiteRules } from "../protocols/smtp/providers.ts";
import { DEFAULT_TIMEOUTS } from "../protocols/smtp/session/timeouts.ts";
import { Sites, type SitesOptions } from "../protocols/smtp/sites.ts";
import { SessionSlots } from "../protocols/smtp/session-slots.ts";
import { tlsPolicyBy } from "../protocols/smtp/tls-policy.ts";
import type { SuppressionStore } from "../modules/suppressions/store.ts";
import type { WorkspaceStore } from "../modules/workspaces/store.ts";

// The sending half of the composition root: worker, sites, sessions and the handler of an attempt.

/** Messages of one lane worked on per session that it may have: one in transmission, one being composed and signed. */
const LANE_JOBS_PER_SESSION = 2;

interface SenderStores {
  emails: EmailStore;
  queue: QueueStore;
  domains: DomainStore;
  suppressions: SuppressionStore;
  workspaces: WorkspaceStore;
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

export interface EmailDeliveryDeps {
  config: Config;
  environment: Environment;
  stores: SenderStores;
  keyring: Keyring;
  committer: Committer;
  guard: DiskGuard;
  pause: PauseView;
  resolver: DnsClient;
  findRelay: FindRelay;
  composer: Composer;
  rates: RecordResultDeps["rates"];
  reportedRefusals: RefusalWatch;
  reporters: RecordResultDeps["reporters"];
  tellOfEmail: TellOfEmail;
  show: RecordResultDeps["show"];
}

/** What the handler is given of the parts as it stands. */
function handlerParts({
  composer,
  resolver,
  reportedRefusals,
  reporters,
  rates,
  tellOfEmail,
  findRelay,
}: EmailDeliveryDeps) {
  return { composer, resolver, reportedRefusals, reporters, rates, tellOfEmail, findRelay };
}

/** Builds what sends email; nothing begins to act before the worker is started. Throws StartError. */
export function createEmailDelivery(deps: EmailDeliveryDeps) {
  const { config, environment, stores, committer, guard } = deps;
  const { clock, log } = environment;
  const steady = environment.steady ?? clock;
  const { email, hostname } = config;
  requireSources(email);
  const keychain = openKeychain(stores.domains, deps.keyring);
  const rules = [...config.site.map(toRules), ...PROVIDERS];
  const pool = new SessionPool({
    clock: steady,
    wall: clock,
    heloName: hostname,
    localAddress: email.sourceIpv4,
    localIpv6: email.sourceIpv6,
    findTlsPolicy: tlsPolicyBy(rules),
    port: email.destinationPort,
    timeouts: DEFAULT_TIMEOUTS,
  });
  const sites = new Sites({
    clock,
    steady,
    maxSessions: email.sessionsPerDestination,
    rules,
    tell: siteTeller(stores.workspaces, log),
  });
  const slots = new SessionSlots({ perSite: (site) => sites.sessionsOf(site), total: email.maxSessions });
  const { show } = deps;
  const expiry = new ExpiryClock(clock, steady);
  const handler = emailHandler({
    ...stores,
    keychain,
    pool,
    sites,
    slots,
    messages: new MessageBudget(messageBudgetFor(environment.memory ?? usableMemory())),
    expiry,
    refusals: new RefusalWatch(),
    ...handlerParts(deps),
    allowed: parseRanges(email.allowPrivateRanges),
    own: { names: [hostname, email.bounceHost], addresses: ownAddresses() },
    isIpv6Ready: email.sourceIpv6 !== null,
    ...environment,
    hostname,
    show,
  });
  const worker = new Worker({
    queue: stores.queue,
    handler,
    commit: committer.commit,
    guard,
    ...environment,
    scheduleMs: email.retryScheduleMs,
    // No more than sessions: a job that waits for one must not take the place of one that would not.
    maxJobs: email.maxSessions,
    maxJobsPerLane: email.sessionsPerDestination * LANE_JOBS_PER_SESSION,
    pause: deps.pause,
    ...gatesOf(sites, stores.workspaces),
  });
  const heldExpiry = new HeldQueueExpiry({
    ...stores,
    heldWorkspaces: () => stores.workspaces.held(),
    commit: committer.commit,
    clock: expiry,
    log,
    show,
  });
  return { worker, pool, slots, sites, keychain, heldExpiry };
}

/** What the worker asks before it claims. */
function gatesOf(sites: Sites, workspaces: WorkspaceStore) {
  const siteLimits: SiteLimits = {
    getMaxJobs: (site) => sites.sessionsOf(site) * LANE_JOBS_PER_SESSION,
    getMaxOwnJobs: (site, workspaceId) => sites.ownSessionsOf(site, workspaceId),
    getBlockEnd: (site, workspaceId) => sites.blockOf(site, workspaceId)?.until ?? null,
  };
  // Nothing of a deleted workspace is sent; 0 is nobody, whose lane could not be looked up.
  const isHeld = (id: number) => id !== 0 && (workspaces.byId(id)?.isHeld ?? true);
  return { siteLimits, isHeld };
}

function siteTeller(workspaces: WorkspaceStore, log: Log): SitesOptions["tell"] {
  return (site, block, workspaceId) => {
    // With a workspace: for its mail alone.
    const of = workspaceId === null ? { site } : { site, workspace: workspaces.byId(workspaceId)?.uid ?? null };
    if (block === null) return log.event("site.unblocked", of);
    log.event("site.blocked", { ...of, until: new Date(block.until).toISOString(), reason: block.reason });
  };
}
