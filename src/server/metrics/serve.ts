import type { Clock } from "../../platform/clock.ts";
import { BUILD } from "../../platform/build-info.ts";
import type { HostPort } from "../../platform/ip/address.ts";
import type { Db } from "../../platform/db/open.ts";
import type { Log } from "../../platform/log.ts";
import { QueueDepthSampler } from "../../modules/emails/queue/depth-sampler.ts";
import type { Counters } from "../../platform/metrics/counters.ts";
import { registerGauges, type Sources } from "./gauges.ts";
import { listenForMetrics } from "./listen.ts";
import { watchEventLoop } from "../../platform/metrics/event-loop-lag.ts";
import { readFileSizes, readProcess } from "../../platform/metrics/process.ts";
import type { Registry } from "../../platform/metrics/registry.ts";
import { openEmailAdminStore } from "../../modules/emails/queue/admin-store.ts";

// Serving the metrics: everything that is measured only because somebody may ask begins and ends here.

/** What an asking waits for the queue to be counted; then it gets the figures of the last time. */
const CENSUS_LIMIT_MS = 5_000;

export interface ServeOptions {
  listen: HostPort;
  registry: Registry;
  counters: Counters;
  db: Db;
  databaseFile: string;
  /** Where a lane leads, for people; null: not known, then its recipient domain stands for it. */
  siteOf: (laneId: number) => string | null;
  sources: Pick<
    Sources,
    "isReady" | "runningAttempts" | "sessions" | "inboundConnections" | "blockedSites" | "freeDiskBytes" | "sms"
  >;
  clock: Clock;
  log: Log;
}

export interface MetricsServer {
  /** http://127.0.0.1:9464/metrics */
  url: string;
  stop(): Promise<void>;
}

/** Throws StartError when the port cannot be had. */
export function serveMetrics(options: ServeOptions): MetricsServer {
  const { registry, counters, clock, siteOf, databaseFile } = options;
  const census = new QueueDepthSampler({ store: openEmailAdminStore(options.db), findSite: siteOf, clock });
  registerGauges(registry, {
    ...options.sources,
    now: () => clock.now(),
    build: BUILD,
    backlog: () => census.sites,
    files: () => readFileSizes(databaseFile),
    process: readProcess,
    startedAt: clock.now(),
  });
  const listener = listenForMetrics({
    listen: options.listen,
    log: options.log,
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
