import { readFileSync } from "node:fs";
import { type Config, formatMistakes, parseConfig } from "../config.ts";
import { StartError } from "../errors.ts";

type Environment = Record<string, string | undefined>;

/** Where the configuration is looked for when neither --config nor POMBO_CONFIG names it. */
const PLACES = ["pombo.toml", "/etc/pombo/pombo.toml"];

/** Reads and checks the configuration file. Throws StartError with every mistake. */
export function readConfig(named: string | undefined, env: Environment): Config {
  const file = named ?? env["POMBO_CONFIG"] ?? PLACES.find((place) => read(place) !== null) ?? null;
  if (file === null) {
    throw new StartError(
      `There is no configuration: looked for ${PLACES.join(" and ")}. Make one with pombo init, or name it with --config FILE.`,
    );
  }
  const parsed = parseConfig(readOrExplain(file), { file, env });
  if (parsed.kind === "config") return parsed.config;
  const count = parsed.mistakes.length;
  throw new StartError(
    `${formatMistakes(file, parsed.mistakes)}\n${count === 1 ? "This mistake" : `These ${count} mistakes`} must be mended before pombo starts.`,
  );
}

function readOrExplain(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      throw new StartError(
        `There is no configuration at ${file}. Make one with pombo init --config ${file}, or name another with --config FILE.`,
      );
    }
    throw new StartError(
      `The configuration ${file} cannot be read (${message}). Run pombo as the user that owns the file, or name another with --config FILE.`,
    );
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
