import { startApp } from "../../server/server.ts";
import { startNode } from "../../server/standby.ts";
import type { AppOptions } from "../../server/app.ts";
import { BUILD } from "../../platform/build-info.ts";
import { steadyClock, systemClock } from "../../platform/clock.ts";
import { loadInstanceKey } from "../../platform/keyring/key-file.ts";
import { jsonLog } from "../../platform/log.ts";
import { probeInstance } from "../../server/probe.ts";
import { systemRandom } from "../../platform/random.ts";
import type { Arguments, Command, Terminal } from "../framework/definition.ts";
import { becomeOwner } from "../client/data-owner.ts";
import { readConfig } from "../client/settings.ts";

/** Asks for a stop, after which another machine takes over at once. */
export const HAND_OVER_SIGNAL = "SIGUSR2";

/** `pombo serve`: runs the instance until SIGTERM or SIGINT. */
export const serve: Command = {
  name: "serve",
  arguments: [],
  options: {
    config: { value: "FILE", about: "the configuration (pombo.toml, then /etc/pombo/config.toml; or POMBO_CONFIG)" },
    probe: { about: "only test that it can run: migrate, unseal, write; nothing listens and nothing is sent" },
    "ignore-existing-backup": { about: "start with an empty database although the replica holds a backup" },
    "start-empty": { refusal: "--start-empty is now called --ignore-existing-backup." },
    "take-over": { about: "write to the replica of another instance that will never run again" },
  },
  about: "Run the instance.",
  run: serveInstance,
};

async function serveInstance(args: Arguments, terminal: Terminal): Promise<void> {
  const config = readConfig(args.text("config"), terminal.env);
  becomeOwner(config.dataDir);
  const instanceKey = loadInstanceKey({ file: config.secrets.instanceKeyFile, env: terminal.env });
  const log = jsonLog({
    write: terminal.out,
    now: () => systemClock.now(),
    addresses: config.log.addresses,
  });
  terminal.onUnhandledRejection((error) => log.error("an unhandled rejection", error));
  const environment = { clock: systemClock, steady: steadyClock, random: systemRandom, log, fatal: terminal.fail };
  if (args.isSet("probe")) return probe({ config, instanceKey, environment }, terminal);
  const replica = { startEmpty: args.isSet("ignore-existing-backup"), takeOver: args.isSet("take-over") };
  const options = { config, instanceKey, environment, replica };
  const isOneOfSeveral = config.standby.leaseMs > 0;
  // Without a lease a signal ends a start at once, as it ends any program.
  const stoppingEarly = isOneOfSeveral ? terminal.stopSignal() : null;
  const node = stoppingEarly === null ? null : await startNode(options, stoppingEarly);
  if (isOneOfSeveral && node === null) return log.event("pombo.stopped");
  const app = node?.app ?? (await startApp(options));
  log.event("pombo.started", {
    url: app.url,
    ...(app.tlsUrls.length === 0 ? {} : { tls: app.tlsUrls.join(" ") }),
    metrics: app.metricsUrl,
    inbound: app.inbound,
    ...(app.submission.length === 0 ? {} : { submission: app.submission.join(" ") }),
    hostname: config.hostname,
    pid: process.pid,
  });
  const signal = await (stoppingEarly ?? terminal.stopSignal());
  log.event("pombo.stopping", { signal });
  await (node === null ? app.stop() : node.stop(signal === HAND_OVER_SIGNAL));
  log.event("pombo.stopped");
}

/** Set by `pombo update` for the executable that it tests. */
export const UPDATE_ID = "POMBO_UPDATE";

async function probe(options: AppOptions, terminal: Terminal): Promise<void> {
  await probeInstance({ ...options, updateId: terminal.env[UPDATE_ID] ?? null });
  terminal.say(
    `pombo ${BUILD.version} can run ${options.config.dataDir}: configuration, migrations, instance key and a write are tested. Nothing was sent.`,
  );
}
