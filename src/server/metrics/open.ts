import type { Config } from "../../config/config.ts";
import { type Db, databaseFile } from "../../platform/db/open.ts";
import type { Environment } from "../../platform/context.ts";
import type { Core } from "../core.ts";
import { type MetricsServer, serveMetrics } from "./serve.ts";
import type { Modules } from "../modules.ts";

interface MetricsSources {
  config: Config;
  environment: Environment;
  core: Core & { db: Db };
  modules: Pick<Modules, "emails" | "sms" | "inboundMail">;
  isReady: () => boolean;
}

/** The metrics of the instance over HTTP; null where the configuration turns them off. */
export function openMetrics({ config, environment, core, modules, isReady }: MetricsSources): MetricsServer | null {
  const { listen } = config.metrics;
  if (listen === null) return null;
  const { emails, sms, inboundMail } = modules;
  return serveMetrics({
    ...core,
    ...environment,
    listen,
    databaseFile: databaseFile(config.dataDir),
    siteOf: (laneId) => emails.worker.getSite(laneId),
    sources: {
      isReady,
      sms: () => sms.figures(),
      runningAttempts: () => emails.worker.runningCount,
      sessions: () => emails.sessions(),
      inboundConnections: () => inboundMail.connectionCount,
      blockedSites: () => emails.sites.blocked().length,
      freeDiskBytes: () => core.guard.freeBytes,
    },
  });
}
