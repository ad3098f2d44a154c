import type { Replicator } from "../backup/replication.ts";
import type { Config } from "../config/config.ts";
import { createEmailQueueAdmin } from "../modules/emails/queue/admin.ts";
import type { OperatorDeps, Replication } from "../modules/operator/index.ts";
import type { LinkView } from "../modules/sms/gateway/links.ts";
import { createSmsQueueAdmin } from "../modules/sms/queue/admin.ts";
import { createWebhookQueueAdmin } from "../modules/webhooks/delivery/admin.ts";
import { openOperatorWorkspaceStore } from "../modules/workspaces/operator/store.ts";
import { BUILD } from "../platform/build-info.ts";
import type { Clock } from "../platform/clock.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { Commit } from "../platform/db/group-commit.ts";
import { type Db, databaseFile } from "../platform/db/open.ts";
import type { HealthIssue } from "../platform/health-issue.ts";
import type { Log } from "../platform/log.ts";
import type { Counters } from "../platform/metrics/counters.ts";
import { readFileSizes } from "../platform/metrics/process.ts";
import type { Worker } from "../platform/queue/worker.ts";
import type { Random } from "../platform/random.ts";
import type { Sites } from "../protocols/smtp/sites.ts";
import type { SmsGateway } from "./sms-gateway.ts";
import type { Stores } from "./stores.ts";
import type { Webhooks } from "../modules/webhooks/index.ts";

// What the operator's status, queue and trace read and change, across all modules.

/** Beside what the API has anyway. */
export interface OperatorView {
  db: Db;
  sites: Sites;
  texter: SmsGateway;
  counters: Counters;
  pages: OperatorDeps["pages"];
  pause: OperatorDeps["pause"];
  /** Null: it does not run yet. */
  replicator: () => Pick<Replicator, "status" | "issue" | "advice" | "drill"> | null;
}

interface Sources extends OperatorView {
  config: Config;
  stores: Stores;
  common: { commit: Commit; clock: Clock; random: Random; log: Log };
  guard: DiskGuard;
  webhooks: Webhooks;
  worker: Worker;
  issues: () => HealthIssue[];
}

export function buildOperatorDeps(sources: Sources): OperatorDeps {
  const { stores, common, worker, webhooks, config, guard, issues } = sources;
  const { db, sites, texter, counters, pause, pages, replicator } = sources;
  const { commit, clock, random, log } = common;
  const { workspaces, suppressions } = stores;
  const isBound = ({ state }: LinkView) => state === "bound" || state === "partly";
  return {
    queues: {
      email: createEmailQueueAdmin({
        ...stores,
        db,
        worker,
        sites,
        isHeld: (workspaceId) => workspaces.byId(workspaceId)?.isHeld ?? true,
        isPaused: () => pause.pause !== null,
        clock,
      }),
      sms: createSmsQueueAdmin({
        db,
        segments: stores.sms.segments,
        nudge: (work) => texter.nudge(work),
        routeIssue(route) {
          if (!config.sms.routes.some(({ name }) => name === route)) return "no such route in the configuration";
          const links = texter.links.views().filter((link) => link.route === route);
          return links.length > 0 && !links.some(isBound) ? "No link of the route is bound" : null;
        },
      }),
      webhook: createWebhookQueueAdmin({
        db,
        webhooks: stores.webhooks,
        jobs: stores.webhookJobs,
        deliveries: stores.webhookDeliveries,
        worker: webhooks.worker,
        random,
      }),
    },
    flagged: openOperatorWorkspaceStore(db),
    workspaces,
    suppressions,
    pause,
    pages,
    commit,
    clock,
    log,
    instance: {
      build: BUILD,
      startedAt: clock.now(),
      issues,
      rates: () => counters.emails.lately(),
      freeDiskBytes: () => guard.freeBytes,
      files: () => readFileSizes(databaseFile(config.dataDir)),
      blockedSites: () =>
        sites.blocked().map(({ site, workspaceId, block }) => {
          const workspace = workspaceId === null ? undefined : workspaces.byId(workspaceId);
          return { site, workspaceId: workspace?.uid ?? null, ...block };
        }),
      links: () =>
        texter.links
          .views()
          .map((link) => ({ route: link.route, isBound: isBound(link), lastEnd: link.error?.reason ?? null })),
      replication: () => toReplication(replicator()),
    },
  };
}

/** Null: nothing is replicated. */
function toReplication(replicator: ReturnType<OperatorView["replicator"]>): Replication | null {
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
