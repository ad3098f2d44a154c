// Serves the metrics of the instance. Everything that is measured only for them begins and ends here.

import type { Config } from "../../config/config.ts";
import { QueueDepthSampler } from "../../modules/emails/queue/depth-sampler.ts";
import { openEmailAdminStore } from "../../modules/emails/queue/admin-store.ts";
import { BUILD } from "../../platform/build-info.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Db, databaseFile } from "../../platform/db/open.ts";
import type { Environment } from "../../platform/context.ts";
import { watchEventLoop } from "../../platform/metrics/event-loop-lag.ts";
import { readFileSizes, readProcess } from "../../platform/metrics/process.ts";
import type { Core } from "../core.ts";
import type { Modules } from "../modules.ts";
import { registerGauges } from "./gauges.ts";
import { listenForMetrics } from "./listen.ts";

/** What a request waits for the queue to be counted; then it gets the figures of the last time. */
const CENSUS_LIMIT_MS = 5_000;

interface MetricsSources {
  config: Config;
  environment: Environment;
  core: Core & { db: Db };
  modules: Pick<Modules, "growth" | "emails" | "sms" | "inboundMail" | "submission" | "certificates">;
  isReady: () => boolean;
}

interface MetricsServer {
  /** http://127.0.0.1:9464/metrics */
  url: string;
  stop(): Promise<void>;
}

/** Null where the configuration turns them off. Throws StartError when the port cannot be had. */
export function serveMetrics({ config, environment, core, modules, isReady }: MetricsSources): MetricsServer | null {
  const { listen } = config.metrics;
  if (listen === null) return null;
  const { clock, log } = environment;
  const { registry, counters, guard } = core;
  const { emails, sms, inboundMail } = modules;
  const census = new QueueDepthSampler({
    store: openEmailAdminStore(core.db),
    findSite: (laneId) => emails.worker.getSite(laneId),
    clock,
  });
  registerGauges(registry, {
    isReady,
    sms: () => sms.figures(),
    runningAttempts: () => emails.worker.runningCount,
    sessions: () => emails.sessions(),
    inboundConnections: () => inboundMail.connectionCount,
    submissionConnections: () => modules.submission.connectionCount,
    blockedSites: () => emails.sites.blocked().length,
    freeDiskBytes: () => guard.freeBytes,
    diskDaysLeft: () => modules.growth.daysLeft(),
    now: () => clock.now(),
    build: BUILD,
    backlog: () => census.sites,
    scheduled: () => census.scheduled,
    files: () => readFileSizes(databaseFile(config.dataDir)),
    certificateSecondsLeft: () => modules.certificates.secondsLeft(),
    process: readProcess,
    startedAt: clock.now(),
  });
  const listener = listenForMetrics({
    listen,
    log,
    text: async () => {
      await within(CENSUS_LIMIT_MS, clock, census.refresh());
      return registry.text();
    },
  });
  const endWatch = watchEventLoop((seconds) => counters.eventLoop.lagged(seconds));
  return {
    url: `${listener.url}/metrics`,
    async stop() {
      endWatch();
      census.stop();
      await listener.stop(0);
    },
  };
}

/** Resolves with `work`, or when the time is up. */
async function within(limitMs: number, clock: Clock, work: Promise<void>): Promise<void> {
  const { promise: isLate, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(limitMs, resolve);
  try {
    await Promise.race([work, isLate]);
  } finally {
    cancel();
  }
}
