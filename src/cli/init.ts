import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname as machineName } from "node:os";
import { dirname, resolve } from "node:path";
import example from "../../config.example.toml" with { type: "text" };
import { formatMistakes, parseConfig } from "../config.ts";
import { StartError } from "../errors.ts";
import { systemClock } from "../clock.ts";
import { systemRandom } from "../random.ts";
import type { Terminal } from "./command.ts";
import { type NewInstance, setUpInstance } from "./set-up.ts";

export interface InitOptions {
  config: string | undefined;
  dataDir: string | undefined;
  hostname: string | undefined;
  json: boolean;
}

const DEFAULT_CONFIG = "pombo.toml";
const DEFAULT_DATA_DIR = "/var/lib/pombo";

/** `pombo init`: writes the configuration and the data directory of a new instance; shows its keys once. */
export function init(options: InitOptions, terminal: Terminal): void {
  const file = resolve(options.config ?? terminal.env["POMBO_CONFIG"] ?? DEFAULT_CONFIG);
  if (existsSync(file)) {
    throw new StartError(
      `${file} exists already and is not overwritten. Start that instance with pombo serve --config ${file}, or name another file with --config.`,
    );
  }
  const name = options.hostname ?? machineName();
  const dataDir = resolve(options.dataDir ?? DEFAULT_DATA_DIR);
  const text = fill(example as string, { hostname: name, data_dir: dataDir });
  const parsed = parseConfig(text, { file, env: terminal.env });
  if (parsed.kind === "mistakes") {
    const hint =
      options.hostname === undefined
        ? "\nName this server with --hostname mail.example.net: its reverse DNS name."
        : "";
    throw new StartError(formatMistakes(file, parsed.mistakes) + hint);
  }
  const givenKey = terminal.env["POMBO_INSTANCE_KEY"] === "" ? undefined : terminal.env["POMBO_INSTANCE_KEY"];
  // First of all: keys that are shown once must not be made before everything else has worked.
  writeConfig(file, text);
  let made: NewInstance;
  try {
    made = setUpInstance(parsed.config, { random: systemRandom, now: systemClock.now(), givenKey });
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }

  const shown = { config: file, dataDir, hostname: parsed.config.hostname, ...made };
  terminal.out(options.json ? JSON.stringify(shown) : summary(shown, parsed.config.http.listen));
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

function summary(
  made: { config: string; dataDir: string; operatorKey: string; recoveryKey: string },
  listen: { address: string; port: number },
): string {
  return `pombo is set up.

  Configuration  ${made.config}
  Data           ${made.dataDir}

Operator key, shown only now. It makes workspaces; keep it in a password manager:
  ${made.operatorKey}

Recovery key, shown only now. Without it a backup of the database cannot be used;
keep it somewhere else than on this server:
  ${made.recoveryKey}

Start it:
  pombo serve --config ${made.config}

Then make the first workspace, which answers its API key:
  curl -s http://${listen.address}:${listen.port}/api/v1/workspaces \\
    -H 'X-API-Key: ${made.operatorKey}' \\
    -H 'Content-Type: application/json' -d '{"name": "My company"}'`;
}
