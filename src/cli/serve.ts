import { startApp } from "../app.ts";
import { steadyClock, systemClock } from "../clock.ts";
import { loadInstanceKey } from "../keyring/file.ts";
import { jsonLog } from "../log.ts";
import { systemRandom } from "../random.ts";
import type { Terminal } from "./command.ts";
import { readConfig } from "./settings.ts";

/** `pombo serve`: runs the instance until SIGTERM or SIGINT. */
export async function serve(options: { config: string | undefined }, terminal: Terminal): Promise<void> {
  const config = readConfig(options.config, terminal.env);
  const instanceKey = loadInstanceKey({ file: config.secrets.instanceKeyFile, env: terminal.env });
  const log = jsonLog({
    write: terminal.out,
    now: () => systemClock.now(),
    addresses: config.log.addresses,
  });
  terminal.tellBugsBy((error) => log.bug("a failure that nobody waited for", error));
  const edges = { clock: systemClock, steady: steadyClock, random: systemRandom, log };
  const app = await startApp({ config, instanceKey, edges });
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
