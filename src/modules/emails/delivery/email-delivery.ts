// The delivery of emails: the worker, the transports, and what these share: sites, sessions, memory.

import { join } from "node:path";
import type { Config, SiteConfig } from "../../../config/config.ts";
import type { Context } from "../../../platform/context.ts";
import type { DiskGuard } from "../../../platform/db/disk-guard.ts";
import type { HealthIssue } from "../../../platform/health-issue.ts";
import { parseRanges } from "../../../platform/ip/address.ts";
import { ownAddresses, requireSources } from "../../../platform/ip/own-addresses.ts";
import { usableMemory } from "../../../platform/memory-limit.ts";
import type { PauseView } from "../../../platform/queue/delivery-pause.ts";
import { OutcomeJournal } from "../../../platform/queue/outcome-journal.ts";
import { Worker } from "../../../platform/queue/worker.ts";
import type { DnsClient } from "../../../protocols/dns/client.ts";
import { PROVIDERS, type SiteRules } from "../../../protocols/smtp/providers.ts";
import { SessionPool } from "../../../protocols/smtp/session-pool.ts";
import { Slots } from "../../../platform/slots.ts";
import { DEFAULT_TIMEOUTS } from "../../../protocols/smtp/session/timeouts.ts";
import { Sites, type SitesOptions } from "../../../protocols/smtp/sites.ts";
import { createTlsPolicies } from "../../../protocols/smtp/tls-policy.ts";
import type { WorkspaceStore } from "../../workspaces/store.ts";
import { isQueueHeld, type QueueStore } from "../queue/store.ts";
import { createEmailHandler, type DeliverDeps } from "./deliver.ts";
import { createDirectTransport, type DirectTransportDeps } from "./direct-transport.ts";
import { RefusalWatch } from "./refusal-watch.ts";
import { MessageBudget, messageBudgetFor } from "./message-budget.ts";
import { EgressHealth } from "./egress-health.ts";
import { chooseEgress, type Egress, openEgresses } from "./egresses.ts";
import { createRelayTransport } from "./relay-transport.ts";
import { openRelays, type Relay } from "./relays.ts";
import { RunningAttempts } from "./running-attempts.ts";
import type { FindTransport, Transport } from "./transport.ts";

/** Messages of one lane worked on per session that it may have: one in transmission, one being composed and signed. */
const LANE_JOBS_PER_SESSION = 2;

export interface EmailDeliveryDeps
  extends Context, Omit<DeliverDeps, "refusals" | "findTransport" | "attempts" | "clock" | "log" | "workspaces"> {
  guard: DiskGuard;
  queue: QueueStore;
  workspaces: WorkspaceStore;
  pause: PauseView;
  resolver: DnsClient;
  /** In bytes; absent: what the machine and its cgroup allow. */
  memory?: number | undefined;
}

export interface EmailDelivery {
  worker: Worker;
  sites: Sites;
  findTransport: FindTransport;
  attempts: Pick<RunningAttempts, "watch">;
  issues(): (HealthIssue | null)[];
  /** SMTP sessions: those in use, and those kept for a next message. */
  sessions(): { busy: number; idle: number };
  /** Ends the idle sessions; later ones are not kept. */
  closeSessions(): Promise<void>;
}

/** Nothing begins to act before the worker is started. Throws StartError. */
export function createEmailDelivery(
  { email, hostname, site, relay, egress, dataDir }: Config,
  deps: EmailDeliveryDeps,
): EmailDelivery {
  const { clock, steady, log, workspaces } = deps;
  requireSources(email);
  const rules = [...site.map(toSiteRules), ...PROVIDERS];
  const pool = new SessionPool({
    clock: steady,
    wall: clock,
    heloName: hostname,
    localAddress: email.sourceIpv4,
    localIpv6: email.sourceIpv6,
    findTlsPolicy: createTlsPolicies(rules),
    port: email.destinationPort,
    timeouts: DEFAULT_TIMEOUTS,
  });
  const maxSessions = email.sessionsPerDestination;
  const sites = new Sites({ clock, steady, maxSessions, rules, tell: logSites(workspaces, log) });
  const slots = new Slots({ perSite: (name) => sites.sessionLimit(name), total: email.maxSessions });
  const refusals = new RefusalWatch();
  const egressHealth = new EgressHealth({ clock, steady, log });
  const ways = {
    relays: openRelays(relay),
    egresses: openEgresses(egress).map((each) => watchEgress(each, egressHealth)),
  };
  const findTransport = createTransports(ways, {
    ...deps,
    egressHealth,
    pool,
    slots,
    sites,
    refusals,
    budget: new MessageBudget(messageBudgetFor(email.memoryBytes, deps.memory ?? usableMemory())),
    allowed: parseRanges(email.allowPrivateRanges),
    own: { names: [hostname, email.bounceHost], addresses: ownAddresses() },
    isIpv6Ready: email.sourceIpv6 !== null,
    hostname,
  });
  const attempts = new RunningAttempts(steady);
  const worker = new Worker({
    ...deps,
    handler: createEmailHandler({ ...deps, refusals, findTransport, attempts }),
    outcomes: new OutcomeJournal(join(dataDir, "outcomes.journal"), log),
    scheduleMs: email.retryScheduleMs,
    // No more than sessions: a job that waits for one must not take the place of one that would not.
    maxJobs: email.maxSessions,
    maxJobsPerLane: maxSessions * LANE_JOBS_PER_SESSION,
    siteLimits: {
      getMaxJobs: (name) => sites.sessionLimit(name) * LANE_JOBS_PER_SESSION,
      getMaxOwnJobs: (name, workspaceId) => sites.ownerSessionLimit(name, workspaceId),
      getBlockEnd: (name, workspaceId) =>
        later(sites.findBlock(name, workspaceId)?.until ?? null, egressHealth.findPause(name)),
    },
    isHeld: (id) => isQueueHeld(id, workspaces),
  });
  const sessions = () => ({ busy: slots.openCount, idle: pool.idleCount });
  const issues = () => [worker.issue, ...deps.health.issues, ...egressHealth.issues];
  return { worker, sites, findTransport, attempts, issues, sessions, closeSessions: () => pool.close() };
}

/** A proxy that has led to a server works, whatever becomes of the message. */
function watchEgress(egress: Egress, health: EgressHealth): Egress {
  const { name, dial } = egress;
  if (dial === undefined) return egress;
  return {
    ...egress,
    dial: (target, listener) =>
      dial(target, {
        connected(early) {
          health.works(name);
          listener.connected(early);
        },
        failed: (reason, fault, error) => listener.failed(reason, fault, error),
      }),
  };
}

function later(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/**
 * The one choice of a transport: the relay or the egress that has the sending domain, else the relay or the egress for
 * all others, else from this machine's own addresses.
 */
export function createTransports(
  { relays, egresses }: { relays: readonly Relay[]; egresses: readonly Egress[] },
  deps: DirectTransportDeps,
): FindTransport {
  const routed = relays.map((relay) => ({ domains: relay.domains, transport: createRelayTransport(relay, deps) }));
  const byDomain = new Map<string, Transport>(
    routed.flatMap(({ domains, transport }) => domains.map((name) => [name, transport] as const)),
  );
  const others = routed.find(({ domains }) => domains.length === 0)?.transport ?? createDirectTransport(deps, null);
  if (egresses.length === 0) return (senderDomain) => byDomain.get(senderDomain) ?? others;
  const leaving = new Map(egresses.map((egress) => [egress, createDirectTransport(deps, egress)]));
  return (senderDomain) => {
    let transport = byDomain.get(senderDomain);
    if (transport === undefined) {
      const egress = chooseEgress(senderDomain, egresses);
      transport = (egress === null ? undefined : leaving.get(egress)) ?? others;
      // The choice is always the same, and the domains are those that people have registered.
      byDomain.set(senderDomain, transport);
    }
    return transport;
  };
}

function toSiteRules({ mx, maxSessions, messagesPerSession, tlsRequired }: SiteConfig): SiteRules {
  const orNull = (count: number) => (count === 0 ? null : count);
  return {
    name: mx[0] ?? "",
    mx,
    maxSessions: orNull(maxSessions),
    messagesPerSession: orNull(messagesPerSession),
    isTlsRequired: tlsRequired,
  };
}

/** A block holds for the mail of a workspace, or of all (null). */
function logSites(workspaces: WorkspaceStore, log: Context["log"]): SitesOptions["tell"] {
  return (site, block, workspaceId) => {
    const fields = workspaceId === null ? { site } : { site, workspace: workspaces.byId(workspaceId)?.uid ?? null };
    if (block === null) return log.event("site.unblocked", fields);
    log.event("site.blocked", { ...fields, until: new Date(block.until).toISOString(), reason: block.reason });
  };
}
