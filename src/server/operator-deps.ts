// Connects the operator's status, queue and trace to all modules.

import { existsSync } from "node:fs";
import type { Replicator } from "../backup/replication.ts";
import type { InstanceView } from "../modules/doctor/world.ts";
import { createEmailQueueAdmin } from "../modules/emails/queue/admin.ts";
import { isQueueHeld } from "../modules/emails/queue/store.ts";
import type { OperatorDeps, Replication } from "../modules/operator/index.ts";
import type { LinkView } from "../modules/sms/gateway/links.ts";
import { createSmsQueueAdmin } from "../modules/sms/queue/admin.ts";
import { createWebhookQueueAdmin } from "../modules/webhooks/delivery/admin.ts";
import { BUILD } from "../platform/build-info.ts";
import { type Db, databaseFile } from "../platform/db/open.ts";
import type { HealthIssue } from "../platform/health-issue.ts";
import { readDescriptors, readFileSizes } from "../platform/metrics/process.ts";
import type { Core } from "./core.ts";
import type { ModuleOptions, Modules } from "./modules.ts";

interface OperatorSources extends ModuleOptions {
  core: Core & { db: Db };
  modules: Pick<Modules, "growth" | "emails" | "sms" | "webhooks">;
  pages: OperatorDeps["pages"];
  issues: () => HealthIssue[];
  /** Null: it does not run yet. */
  replicator: () => Pick<Replicator, "status" | "issue" | "advice" | "drill"> | null;
}

export function buildOperatorDeps(sources: OperatorSources): OperatorDeps {
  const { config, environment, core, modules, pages, issues, replicator } = sources;
  const { db, stores, guard, pause, counters } = core;
  const { clock, random, log } = environment;
  const { worker, sites } = modules.emails;
  const { sms, webhooks } = modules;
  const { workspaces, suppressions } = stores;
  return {
    queues: {
      email: createEmailQueueAdmin({
        ...stores,
        db,
        worker,
        recordEvent: modules.emails.recordEvent,
        sites,
        isHeld: (workspaceId) => isQueueHeld(workspaceId, workspaces),
        isPaused: () => pause.pause !== null,
        clock,
      }),
      sms: createSmsQueueAdmin({
        db,
        segments: stores.sms.segments,
        nudge: (work) => sms.nudge(work),
        routeIssue(route) {
          if (!config.sms.routes.some(({ name }) => name === route)) return "no such route in the configuration";
          const links = sms.links.views().filter((link) => link.route === route);
          return links.length > 0 && !links.some(isBound) ? "No link of the route is bound" : null;
        },
      }),
      webhook: createWebhookQueueAdmin({
        db,
        webhooks: stores.webhooks,
        jobs: stores.webhookJobs,
        deliveries: stores.webhookDeliveries,
        events: stores.events,
        worker: webhooks.worker,
        random,
      }),
    },
    workspaces,
    suppressions,
    pause,
    pages,
    settings: stores.settings,
    commit: core.commit,
    clock,
    log,
    instance: {
      build: BUILD,
      startedAt: clock.now(),
      issues,
      rates: () => counters.emails.lately(),
      freeDiskBytes: () => guard.freeBytes,
      diskDaysLeft: () => modules.growth.daysLeft(),
      files: () => readFileSizes(databaseFile(config.dataDir)),
      blockedSites: () =>
        sites.blocked().map(({ site, owner, block }) => {
          const workspace = owner === null ? undefined : workspaces.byId(owner);
          return { site, workspaceId: workspace?.uid ?? null, ...block };
        }),
      links: () => sms.links.views().map(describeLink),
      replication: () => toReplication(replicator()),
    },
  };
}

function isBound({ state }: LinkView): boolean {
  return state === "bound" || state === "partly";
}

function describeLink(link: LinkView) {
  return { route: link.route, isBound: isBound(link), lastEnd: link.error?.reason ?? null };
}

/** Null: nothing is replicated. */
function toReplication(replicator: ReturnType<OperatorSources["replicator"]>): Replication | null {
  const status = replicator?.status() ?? null;
  if (status === null) return null;
  const { isRunning, lastSyncAt, fault } = status;
  return {
    state: isRunning ? "running" : "not running",
    reason: replicator?.issue?.reason ?? fault ?? replicator?.advice ?? null,
    lastAt: lastSyncAt,
    drill: replicator?.drill() ?? null,
  };
}

interface ViewSources {
  operator: OperatorDeps;
  instanceKeyFile: string;
  isReplaced: () => boolean;
  modules: Pick<Modules, "inboundMail" | "submission" | "certificates">;
  counters: Pick<Core["counters"], "commits">;
  /** Of the API with TLS. */
  tlsUrls: () => readonly string[];
}

/** The instance as the doctor looks at it. */
export function buildInstanceView(sources: ViewSources): InstanceView {
  const { operator, modules, counters, tlsUrls, instanceKeyFile, isReplaced } = sources;
  const { instance, settings } = operator;
  const checkedAt = settings.get("recovery_key_checked") ?? "";
  const { inboundMail, submission, certificates } = modules;
  return {
    inbound: inboundMail.address,
    submission: [...submission.addresses, ...submission.tlsAddresses],
    tls: tlsUrls().map((url) => url.replace(/^https:\/\//, "")),
    issues: instance.issues,
    freeDiskBytes: instance.freeDiskBytes(),
    diskDaysLeft: instance.diskDaysLeft(),
    replication: instance.replication(),
    links: instance.links(),
    commits: counters.commits.durations(),
    descriptors: readDescriptors(),
    certificate: certificates.describe(),
    recoveryKey: {
      checkedAt: checkedAt === "" ? null : Number(checkedAt),
      file: existsSync(instanceKeyFile) ? instanceKeyFile : null,
    },
    isReplaced: isReplaced(),
  };
}
