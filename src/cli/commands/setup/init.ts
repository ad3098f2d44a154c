import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { databaseFile } from "../../../platform/db/open.ts";
import { parseHostPort } from "../../../config/config.ts";
import { StartError } from "../../../platform/errors.ts";
import { systemClock } from "../../../platform/clock.ts";
import { systemRandom } from "../../../platform/random.ts";
import type { Terminal } from "../../framework/terminal.ts";
import { DEFAULT_CONFIG, forgetConfig, freshConfig, type Plan, SERVICE, writeConfig } from "./new-config.ts";
import { becomeOwner } from "../../client/data-owner.ts";
import { readConfig } from "../../client/settings.ts";
import { type NewInstance, setUpInstance } from "./setup.ts";
import { jsonLine } from "../../framework/text.ts";

export interface InitOptions {
  config: string | undefined;
  dataDir: string | undefined;
  hostname: string | undefined;
  /** Address and port of the API. */
  listen: string | undefined;
  json: boolean;
}

/**
 * `pombo init`: makes the data directory of a new instance and shows its keys once. Writes the configuration,
 * unless there is one by hand already: then that is used.
 */
export function init(options: InitOptions, terminal: Terminal): void {
  const file = resolve(options.config ?? terminal.env["POMBO_CONFIG"] ?? DEFAULT_CONFIG);
  const isByHand = existsSync(file);
  const plan = isByHand ? existing(file, options, terminal) : freshConfig(file, options, terminal);
  const { config } = plan;
  const givenKey = terminal.env["POMBO_INSTANCE_KEY"] === "" ? undefined : terminal.env["POMBO_INSTANCE_KEY"];
  // First of all: keys that are shown once must not be made before everything else has worked.
  if (plan.text !== null) writeConfig(file, plan.text, { dataDir: config.dataDir, terminal });
  becomeOwner(config.dataDir);
  let made: NewInstance;
  try {
    made = setUpInstance(config, { random: systemRandom, now: systemClock.now(), givenKey });
  } catch (error) {
    if (!isByHand) forgetConfig(file, terminal);
    throw error;
  }
  const shown = { config: file, dataDir: config.dataDir, hostname: config.hostname, ...made };
  terminal.out(options.json ? jsonLine(shown) : summary({ ...shown, bounceHost: config.email.bounceHost }));
}

function existing(file: string, options: InitOptions, terminal: Terminal): Plan {
  const config = readConfig(file, terminal.env);
  if (existsSync(databaseFile(config.dataDir))) {
    throw new StartError(
      `${file} and its data directory ${config.dataDir} are set up already. Start that instance with pombo serve --config ${file}, or name another file with --config.`,
    );
  }
  const { hostname, dataDir, listen } = options;
  const isSame =
    (hostname ?? config.hostname) === config.hostname &&
    resolve(dataDir ?? config.dataDir) === config.dataDir &&
    (listen === undefined || Bun.deepEquals(parseHostPort(listen), config.http.listen));
  if (!isSame) {
    throw new StartError(
      `${file} exists already and says something else than --hostname, --data-dir and --listen. Leave them out to set up what the file says, or name another file with --config.`,
    );
  }
  return { config, text: null };
}

function summary(made: {
  config: string;
  dataDir: string;
  bounceHost: string;
  operatorKey: string;
  recoveryKey: string;
}): string {
  return `pombo is set up.

  Configuration  ${made.config}
  Data           ${made.dataDir}

Operator key, shown only now. Programs on other machines make workspaces with it; commands on this one
need none. Keep it in a password manager:
  ${made.operatorKey}

Recovery key, shown only now. Without it a backup of the database cannot be used;
keep it somewhere else than on this server:
  ${made.recoveryKey}

Start it:
  ${existsSync(SERVICE) ? "sudo systemctl enable --now pombo" : `pombo serve --config ${made.config}`}

Bounces come back by mail to ${made.bounceHost}: its A or MX record must lead here, and port 25 be open (or see [inbound]).

Then make the first workspace, which shows its API key:
  ${existsSync(SERVICE) ? "sudo -u pombo " : ""}pombo workspace create "My company" --plan starter --config ${made.config}`;
}
