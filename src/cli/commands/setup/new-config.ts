// Writes the configuration of a new instance: the example, with values from the command line.

import { closeSync, fchmodSync, fchownSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { hostname as machineName } from "node:os";
import { dirname, resolve } from "node:path";
import example from "../../../../config.example.toml" with { type: "text" };
import { type Config, parseConfig } from "../../../config/config.ts";
import { getErrorMessage, StartError } from "../../../platform/errors.ts";
import type { Terminal } from "../../framework/definition.ts";
import { isRoot, ownerBesideRoot, requireRootsPlace } from "../../client/data-owner.ts";
import { plain } from "../../framework/text.ts";

const DEFAULT_DATA_DIR = "/var/lib/pombo";
const LISTEN = "http.listen";
/** `text` null: the file stays as it is. */
export interface Plan {
  config: Config;
  text: string | null;
}

export interface ConfigOptions {
  hostname: string | undefined;
  dataDir: string | undefined;
  /** Address and port of the API. */
  listen?: string | undefined;
  /** With a certificate of Let's Encrypt's on port 443. */
  isHttps?: boolean;
  /** Other keys; each must appear only once in the example. */
  more?: Record<string, string>;
}

/** A configuration for `file`, with defaults. Throws StartError. */
export function freshConfig(file: string, options: ConfigOptions, terminal: Pick<Terminal, "env">): Plan {
  const name = options.hostname ?? machineName();
  const dataDir = resolve(options.dataDir ?? DEFAULT_DATA_DIR);
  const listen = options.listen === undefined ? {} : { [LISTEN]: options.listen };
  const https = options.isHttps === true ? serveHttps(name) : {};
  const text = fill(example as string, { hostname: name, data_dir: dataDir, ...listen, ...https, ...options.more });
  const parsed = parseConfig(text, { file, env: terminal.env });
  if (parsed.kind === "config") return { config: parsed.config, text };
  if (options.hostname === undefined && parsed.errors.every(({ key }) => key === "hostname")) {
    throw new StartError(
      `The name of this machine, "${name}", is not a full host name. Give one with --hostname mail.example.net: the reverse DNS name of its address.`,
    );
  }
  const lines = parsed.errors.map(
    ({ key, found, expected }) => `--${toOption(key)}: found ${found}; expected ${expected}`,
  );
  throw new StartError(lines.join("\n"));
}

function serveHttps(name: string): Record<string, string | string[]> {
  return {
    "tls.listen": ["0.0.0.0:443", "[::]:443"],
    "tls.acme": "letsencrypt",
    "dashboard.url": `https://${name}`,
  };
}

/** Options have the names of keys without their table. */
function toOption(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1).replaceAll("_", "-");
}

/** Writes a new file; reports a folder that is created for it. Throws StartError. */
export function writeConfig(
  file: string,
  text: string,
  { dataDir, terminal: { err } }: { dataDir: string; terminal: Pick<Terminal, "err"> },
): void {
  const owner = ownerBesideRoot(dataDir);
  requireRootsPlace(dirname(file));
  try {
    const made = mkdirSync(dirname(file), { recursive: true });
    const descriptor = openSync(file, "wx", 0o640);
    try {
      // It may hold a password. It belongs to root; the user that runs pombo may read it.
      if (owner !== null) fchownSync(descriptor, 0, owner.gid);
      else if (isRoot()) fchmodSync(descriptor, 0o644);
      writeFileSync(descriptor, text);
    } finally {
      closeSync(descriptor);
    }
    if (made !== undefined) err(`Created the folder ${plain(dirname(file))} for the configuration.`);
  } catch (error) {
    throw new StartError(
      `The configuration ${file} cannot be written (${getErrorMessage(error)}). Name another file with --config; nothing was set up.`,
    );
  }
}

/** Removes the configuration of a failed set-up: the next one may use other values. */
export function forgetConfig(file: string, { err }: Pick<Terminal, "err">): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Root wrote it, and this process has become the owner of the data directory since.
    err(`The configuration ${plain(file)} was written: correct it there, or delete it.`);
  }
}

/** The example with these keys set; `table.key` for a key of a table. */
function fill(template: string, values: Record<string, string | string[]>): string {
  let text = template;
  for (const [path, value] of Object.entries(values)) {
    const [key = "", table] = path.split(".").toReversed();
    const before = table === undefined ? "" : `^\\[${table}\\]\\n(?:(?!\\[).*\\n)*?`;
    const line = new RegExp(`(${before})^#?${key} = .*$`, "m");
    text = text.replace(line, (_, above: string) => `${above}${key} = ${JSON.stringify(value)}`);
  }
  return text;
}
