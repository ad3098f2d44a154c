import { startApp } from "../app.ts";
import { steadyClock, systemClock } from "../clock.ts";
import { loadInstanceKey } from "../keyring/file.ts";
import { jsonLog } from "../log.ts";
import { systemRandom } from "../random.ts";
import type { ReplicaChoice } from "../replicator.ts";
import type { Terminal } from "./command.ts";
import { readConfig } from "./settings.ts";

export interface ServeOptions {
  config: string | undefined;
  replica: ReplicaChoice;
}

/** `pombo serve`: runs the instance until SIGTERM or SIGINT. */
export async function serve(options: ServeOptions, terminal: Terminal): Promise<void> {
  const config = readConfig(options.config, terminal.env);
  const instanceKey = loadInstanceKey({ file: config.secrets.instanceKeyFile, env: terminal.env });
  const log = jsonLog({
    write: terminal.out,
    now: () => systemClock.now(),
    addresses: config.log.addresses,
  });
  terminal.tellBugsBy((error) => log.bug("a failure that nobody waited for", error));
  const edges = { clock: systemClock, steady: steadyClock, random: systemRandom, log };
  const app = await startApp({ config, instanceKey, edges, replica: options.replica });
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
