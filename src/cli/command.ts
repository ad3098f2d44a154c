import { parseArgs } from "node:util";
import { StartError } from "../errors.ts";
import { dev } from "./dev.ts";
import { init } from "./init.ts";
import { serve } from "./serve.ts";
import { versionText } from "./version.ts";

/** The process around a command. */
export interface Terminal {
  env: Record<string, string | undefined>;
  /** One line, or several, to standard output. */
  out: (text: string) => void;
  /** The same to standard error. */
  err: (text: string) => void;
  /** Resolves with the signal that asks the process to end. */
  stopSignal: () => Promise<string>;
  /** From now on `tell` is told of failures that nobody waited for, instead of standard error. */
  tellBugsBy: (tell: (error: unknown) => void) => void;
}

const USAGE = `pombo: your own transactional email API

  pombo dev      Try it out: a sandbox with its own DNS and mail server. Nothing leaves this machine.
                 --port N (8080)  --data DIR (kept between runs)  --json
  pombo init     Set up an instance: writes its configuration and shows its keys once.
                 --hostname NAME  --data-dir DIR (/var/lib/pombo)  --config FILE (pombo.toml)  --json
  pombo serve    Run the instance.
                 --config FILE (pombo.toml, then /etc/pombo/pombo.toml; or POMBO_CONFIG)
  pombo version  Say what this is.`;

/** Runs the command that `args` name. Throws StartError for what a person can mend. */
export async function runCommand(args: string[], terminal: Terminal): Promise<void> {
  const [name = "help", ...rest] = args;
  if (rest.includes("--help") || rest.includes("-h")) return terminal.out(USAGE);
  switch (name) {
    case "dev": {
      const { port, data, json } = options(name, rest, { port: "string", data: "string", json: "boolean" });
      return dev({ port: portOf(port), data: asText(data), json: json === true }, terminal);
    }
    case "init": {
      const given = options(name, rest, {
        config: "string",
        "data-dir": "string",
        hostname: "string",
        json: "boolean",
      });
      const { config, "data-dir": dataDir, hostname, json } = given;
      return init(
        { config: asText(config), dataDir: asText(dataDir), hostname: asText(hostname), json: json === true },
        terminal,
      );
    }
    case "serve": {
      const { config } = options(name, rest, { config: "string" });
      return serve({ config: asText(config) }, terminal);
    }
    case "version":
    case "--version":
      return terminal.out(versionText());
    case "help":
    case "--help":
    case "-h":
      return terminal.out(USAGE);
    default:
      throw new StartError(`pombo has no command ${name}.\n\n${USAGE}`);
  }
}

type Given = Record<string, string | boolean | undefined>;

function options(command: string, args: string[], known: Record<string, "string" | "boolean">): Given {
  try {
    const described = Object.fromEntries(Object.entries(known).map(([name, type]) => [name, { type }]));
    return parseArgs({ args, options: described, strict: true }).values;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error);
    const names = Object.keys(known).map((name) => `--${name}`);
    throw new StartError(`pombo ${command}: ${reason}. It knows ${names.join(", ")}.`);
  }
}

function asText(value: string | boolean | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

const DEV_PORT = 8080;

function portOf(value: string | boolean | undefined): number {
  if (value === undefined) return DEV_PORT;
  const port = Number(value);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new StartError(`pombo dev: --port must be a number from 0 to 65535, not ${String(value)}.`);
}
