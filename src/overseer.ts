import type { Built } from "./api-parts.ts";
import { BUILD } from "./build.ts";
import type { Db } from "./db/open.ts";
import { databaseFile } from "./ground.ts";
import type { Counters } from "./metrics/counters.ts";
import { readFileSizes } from "./metrics/process.ts";
import { openCensusStore } from "./metrics/store.ts";
import type { Pause } from "./operator/overview.ts";
import { openOverviewStore } from "./operator/overview-store.ts";
import type { OperatorQueueParts } from "./operator/queue-routes.ts";
import { openOperatorQueueStore } from "./operator/queue-store.ts";
import type { Replication, StatusParts } from "./operator/status.ts";
import type { TraceParts } from "./operator/trace.ts";
import { openTraceStore } from "./operator/trace-store.ts";
import type { Sites } from "./smtp/sites.ts";
import type { Texter } from "./texter.ts";

// The overseeing part of the composition root: what the operator's status and queue read and change, across all
// rooms. What a part does not have yet stands here as a hook that says so.

/** What is overseen, beside what the API has anyway. */
export interface Overseen {
  db: Db;
  sites: Sites;
  texter: Texter;
  counters: Counters;
}

/** Whether all delivery is paused. Hook: the fact of the database that the worker, texter and teller honour. */
function paused(): Pause {
  return null;
}

/** How the database's replication is. Hook: the supervisor that runs it. */
function replication(): Replication | null {
  return null;
}

export interface OverseerParts {
  queue: OperatorQueueParts;
  status: StatusParts;
  trace: TraceParts;
}

export function overseerParts(built: Built): OverseerParts {
  const { stores, common, worker, teller, config, guard, troubles } = built;
  const { db, sites, texter, counters } = built.overseen;
  const { clock } = common;
  const { segments } = stores.sms;
  const overview = openOverviewStore(db);
  const states = () => texter.links.states();
  const isBound = ({ state }: ReturnType<typeof states>[number]) => state === "bound" || state === "partly";
  const linksOf = (route: string) => states().filter((link) => link.route === route);
  return {
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
      siteOf: (laneId) => worker.siteOf(laneId),
      blockOf: (site) => sites.blockOf(site),
      isHeld: (workspaceId) => stores.workspaces.byId(workspaceId)?.isHeld ?? true,
      paused,
      troubleOf(route) {
        const links = linksOf(route);
        return links.length > 0 && !links.some(isBound) ? "No link of the route is bound" : null;
      },
      nudge: {
        email: (laneId, dueAt) => worker.nudge(laneId, dueAt),
        sms: (work) => built.nudgeSms(work),
        webhook: (webhookId, dueAt) => teller.worker.nudge(webhookId, dueAt),
      },
    },
    status: {
      overview,
      build: BUILD,
      startedAt: clock.now(),
      troubles,
      paused,
      runningEmails: () => worker.runningCount,
      rates: () => counters.emails.lately(),
      freeDiskBytes: () => guard.freeBytes,
      files: () => readFileSizes(databaseFile(config.dataDir)),
      blockedSites: () => sites.blocked(),
      links: () =>
        states().map((link) => ({ route: link.route, isBound: isBound(link), lastEnd: link.lastEnd?.reason ?? null })),
      replication,
      clock,
    },
  };
}
