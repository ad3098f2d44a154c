import { type AppOptions, startApp } from "../../server/server.ts";
import { BUILD } from "../../platform/build-info.ts";
import { steadyClock, systemClock } from "../../platform/clock.ts";
import { loadInstanceKey } from "../../platform/keyring/key-file.ts";
import { jsonLog } from "../../platform/log.ts";
import { probeInstance } from "../../server/probe.ts";
import { systemRandom } from "../../platform/random.ts";
import type { ReplicaChoice } from "../../backup/replication.ts";
import type { Terminal } from "../framework/terminal.ts";
import { becomeOwner } from "../client/data-owner.ts";
import { readConfig } from "../client/settings.ts";

export interface ServeOptions {
  config: string | undefined;
  /** Only test whether it can run. */
  isProbe: boolean;
  replica: ReplicaChoice;
}

/** `pombo serve`: runs the instance until SIGTERM or SIGINT. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<void> {
  const config = readConfig(options.config, terminal.env);
  becomeOwner(config.dataDir);
  const instanceKey = loadInstanceKey({ file: config.secrets.instanceKeyFile, env: terminal.env });
  const log = jsonLog({
    write: terminal.out,
    now: () => systemClock.now(),
    addresses: config.log.addresses,
  });
  terminal.onUnhandledRejection((error) => log.error("an unhandled rejection", error));
  const environment = { clock: systemClock, steady: steadyClock, random: systemRandom, log };
  if (options.isProbe) return probe({ config, instanceKey, environment }, terminal);
  const app = await startApp({ config, instanceKey, environment, replica: options.replica });
  log.event("pombo.started", {
    url: app.url,
    metrics: app.metricsUrl,
    inbound: app.inbound,
    hostname: config.hostname,
    pid: process.pid,
  });
  const signal = await terminal.stopSignal();
  log.event("pombo.stopping", { signal });
  await app.stop();
  log.event("pombo.stopped");
}

/** Set by `pombo update` for the executable that it tests. */
export const UPDATE_ID = "POMBO_UPDATE";

async function probe(options: AppOptions, terminal: Terminal): Promise<void> {
  await probeInstance({ ...options, updateId: terminal.env[UPDATE_ID] ?? null });
  terminal.out(
    `pombo ${BUILD.version} can run ${options.config.dataDir}: configuration, migrations, instance key and a write are tested. Nothing was sent.`,
  );
}
