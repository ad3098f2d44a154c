import type { Clock } from "../platform/clock.ts";
import type { Config } from "../config/config.ts";
import type { Commit } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import { BUILD } from "../platform/build-info.ts";
import type { Db } from "../platform/db/open.ts";
import { databaseFile } from "../platform/db/open.ts";
import type { ListPages } from "../platform/http/pagination.ts";
import type { Log } from "../platform/log.ts";
import type { Counters } from "../platform/metrics/counters.ts";
import { readFileSizes } from "../platform/metrics/process.ts";
import { openCensusStore } from "../modules/emails/queue/depth-store.ts";
import { openOverviewStore } from "../modules/operator/overview-store.ts";
import type { PauseRouteDeps } from "../modules/operator/pause-routes.ts";
import type { OperatorQueueDeps } from "../modules/operator/queue-routes.ts";
import { openOperatorQueueStore } from "../modules/operator/queue-store.ts";
import type { Replication, StatusDeps } from "../modules/operator/instance-status.ts";
import type { TraceDeps } from "../modules/operator/trace.ts";
import { openTraceStore } from "../modules/operator/trace-store.ts";
import type { PageCheck } from "../platform/db/page-check.ts";
import type { DeliveryPause } from "../platform/queue/delivery-pause.ts";
import type { Worker } from "../platform/queue/worker.ts";
import type { Random } from "../platform/random.ts";
import type { Replicator } from "../backup/replication.ts";
import type { LinkView } from "../modules/sms/gateway/links.ts";
import type { Sites } from "../protocols/smtp/sites.ts";
import type { Stores } from "./stores.ts";
import type { Webhooks } from "../modules/webhooks/index.ts";
import type { Sms } from "../modules/sms/index.ts";
import type { HealthIssue } from "../platform/health-issue.ts";

// The overseeing part of the composition root: what the operator's status and queue read and change, across all
// rooms.

/** What is overseen, beside what the API has anyway. */
export interface OperatorView {
  db: Db;
  sites: Sites;
  texter: Sms;
  counters: Counters;
  pages: Pick<PageCheck, "check">;
  pause: Pick<DeliveryPause, "pause" | "hold" | "resume">;
  /** Null: it does not run yet. */
  replicator: () => Pick<Replicator, "status" | "issue" | "advice" | "drill"> | null;
}

/** All that it reads and changes. */
export interface OperatorSources extends OperatorView {
  config: Config;
  stores: Stores;
  common: { commit: Commit; clock: Clock; random: Random; log: Log; pages: ListPages };
  guard: DiskGuard;
  webhooks: Webhooks;
  worker: Worker;
  issues: () => HealthIssue[];
}

/** Null: nothing is replicated. */
function replicationOf(replicator: ReturnType<OperatorView["replicator"]>): Replication | null {
  const status = replicator?.status() ?? null;
  if (status === null) return null;
  const { isRunning, lastSyncAt } = status;
  const trouble = replicator?.issue ?? null;
  return {
    state: isRunning ? "running" : "not running",
    reason: trouble?.reason ?? status.fault ?? replicator?.advice ?? null,
    lastAt: lastSyncAt,
    drill: replicator?.drill() ?? null,
  };
}

export interface OperatorToolDeps {
  queue: OperatorQueueDeps;
  status: StatusDeps;
  trace: TraceDeps;
  pause: PauseRouteDeps;
}

export function operatorDeps(sources: OperatorSources): OperatorToolDeps {
  const { stores, common, worker, webhooks, config, guard, issues } = sources;
  const { db, sites, texter, counters, pause, pages, replicator } = sources;
  const paused = () => pause.pause;
  const { clock } = common;
  const { segments } = stores.sms;
  const overview = openOverviewStore(db);
  const isBound = ({ state }: LinkView) => state === "bound" || state === "partly";
  const linksOf = (route: string) => texter.links.views().filter((link) => link.route === route);
  return {
    pause: { pause, log: common.log },
    trace: { traces: openTraceStore(db), segments, ...stores },
    queue: {
      ...common,
      workspaces: stores.workspaces,
      emails: stores.emails,
      queue: stores.queue,
      segments,
      webhooks: stores.webhooks,
      jobs: stores.webhookJobs,
      deliveries: stores.webhookDeliveries,
      waiting: openOperatorQueueStore(db),
      overview,
      census: openCensusStore(db),
      siteOf: (laneId) => worker.getSite(laneId),
      blockOf: (site, workspaceId) => sites.blockOf(site, workspaceId),
      isHeld: (workspaceId) => stores.workspaces.byId(workspaceId)?.isHeld ?? true,
      paused,
      troubleOf(route) {
        if (!config.sms.routes.some(({ name }) => name === route)) return "no such route in the configuration";
        const links = linksOf(route);
        return links.length > 0 && !links.some(isBound) ? "No link of the route is bound" : null;
      },
      nudge: {
        email: (laneId, dueAt) => worker.nudge(laneId, dueAt),
        sms: (work) => texter.nudge(work),
        webhook: (webhookId, dueAt) => webhooks.worker.nudge(webhookId, dueAt),
      },
    },
    status: {
      overview,
      build: BUILD,
      startedAt: clock.now(),
      checkPages: () => pages.check(),
      issues,
      paused,
      runningEmails: () => worker.runningCount,
      rates: () => counters.emails.lately(),
      freeDiskBytes: () => guard.freeBytes,
      files: () => readFileSizes(databaseFile(config.dataDir)),
      blockedSites: () =>
        sites.blocked().map(({ site, workspaceId, block }) => {
          const workspace = workspaceId === null ? undefined : stores.workspaces.byId(workspaceId);
          return { site, workspaceId: workspace?.uid ?? null, ...block };
        }),
      links: () =>
        texter.links
          .views()
          .map((link) => ({ route: link.route, isBound: isBound(link), lastEnd: link.error?.reason ?? null })),
      replication: () => replicationOf(replicator()),
      clock,
    },
  };
}
