import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname as machineName } from "node:os";
import { dirname, resolve } from "node:path";
import example from "../../config.example.toml" with { type: "text" };
import { databaseFile } from "../ground.ts";
import { type Config, parseConfig } from "../config.ts";
import { StartError } from "../errors.ts";
import { systemClock } from "../clock.ts";
import { systemRandom } from "../random.ts";
import type { Terminal } from "./command.ts";
import { readConfig } from "./settings.ts";
import { type NewInstance, setUpInstance } from "./set-up.ts";

export interface InitOptions {
  config: string | undefined;
  dataDir: string | undefined;
  hostname: string | undefined;
  json: boolean;
}

const DEFAULT_CONFIG = "pombo.toml";
const DEFAULT_DATA_DIR = "/var/lib/pombo";
/** Made by install.sh. */
const SERVICE = "/etc/systemd/system/pombo.service";

/**
 * `pombo init`: makes the data directory of a new instance and shows its keys once. Writes the configuration,
 * unless there is one by hand already: then that is used.
 */
export function init(options: InitOptions, terminal: Terminal): void {
  const file = resolve(options.config ?? terminal.env["POMBO_CONFIG"] ?? DEFAULT_CONFIG);
  const isByHand = existsSync(file);
  const plan = isByHand ? existing(file, options, terminal) : fresh(file, options, terminal);
  const { config } = plan;
  const givenKey = terminal.env["POMBO_INSTANCE_KEY"] === "" ? undefined : terminal.env["POMBO_INSTANCE_KEY"];
  // First of all: keys that are shown once must not be made before everything else has worked.
  if (plan.text !== null) writeConfig(file, plan.text);
  let made: NewInstance;
  try {
    made = setUpInstance(config, { random: systemRandom, now: systemClock.now(), givenKey });
  } catch (error) {
    if (!isByHand) rmSync(file, { force: true });
    throw error;
  }
  const shown = { config: file, dataDir: config.dataDir, hostname: config.hostname, ...made };
  terminal.out(options.json ? JSON.stringify(shown) : summary({ ...shown, bounceHost: config.email.bounceHost }));
}

/** `text` null: the file stays as it is. */
interface Plan {
  config: Config;
  text: string | null;
}

function existing(file: string, options: InitOptions, terminal: Terminal): Plan {
  const config = readConfig(file, terminal.env);
  if (existsSync(databaseFile(config.dataDir))) {
    throw new StartError(
      `${file} and its data directory ${config.dataDir} are set up already. Start that instance with pombo serve --config ${file}, or name another file with --config.`,
    );
  }
  const { hostname, dataDir } = options;
  if ((hostname ?? config.hostname) !== config.hostname || resolve(dataDir ?? config.dataDir) !== config.dataDir) {
    throw new StartError(
      `${file} exists already and says something else than --hostname and --data-dir. Leave them out to set up what the file says, or name another file with --config.`,
    );
  }
  return { config, text: null };
}

function fresh(file: string, options: InitOptions, terminal: Terminal): Plan {
  const name = options.hostname ?? machineName();
  const dataDir = resolve(options.dataDir ?? DEFAULT_DATA_DIR);
  const text = fill(example as string, { hostname: name, data_dir: dataDir });
  const parsed = parseConfig(text, { file, env: terminal.env });
  if (parsed.kind === "config") return { config: parsed.config, text };
  if (options.hostname === undefined && parsed.mistakes.every(({ key }) => key === "hostname")) {
    throw new StartError(
      `This machine calls itself "${name}", which is no full host name. Name it with --hostname mail.example.net: the reverse DNS name of its address.`,
    );
  }
  const lines = parsed.mistakes.map(
    ({ key, found, expected }) => `--${key.replaceAll("_", "-")}: found ${found}; expected ${expected}`,
  );
  throw new StartError(lines.join("\n"));
}

function writeConfig(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o644, flag: "wx" });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The configuration ${file} cannot be written (${reason}). Name another file with --config; nothing was set up.`,
    );
  }
}

/** The example with the required keys set. */
function fill(template: string, values: Record<string, string>): string {
  let text = template;
  for (const [key, value] of Object.entries(values)) {
    text = text.replace(new RegExp(`^${key} = .*$`, "m"), () => `${key} = ${JSON.stringify(value)}`);
  }
  return text;
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
