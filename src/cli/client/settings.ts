import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Config, dataDirOf, formatConfigErrors, parseConfig } from "../../config/config.ts";
import { StartError } from "../../platform/errors.ts";
import { becomeOwnerOfConfig } from "./data-owner.ts";

type Environment = Record<string, string | undefined>;

/** Where the configuration is looked for when neither --config nor POMBO_CONFIG names it. */
export const PLACES = ["pombo.toml", "/etc/pombo/config.toml", "/etc/pombo/pombo.toml"];

/** Reads and checks the configuration file. Throws StartError with every mistake. */
export function readConfig(named: string | undefined, env: Environment): Config {
  const file = findFile(named, env);
  const parsed = parseConfig(readOrExplain(file), { file, env });
  if (parsed.kind === "config") return parsed.config;
  const count = parsed.errors.length;
  throw new StartError(
    `${formatConfigErrors(file, parsed.errors)}\n${count === 1 ? "This error" : `These ${count} errors`} must be corrected before pombo starts.`,
  );
}

/** An instance that is to be found, running or not. */
export interface InstancePlace {
  dataDir: string;
  /** The whole configuration: what runs does not need it to be right, or readable here. Throws StartError. */
  config(): Config;
}

/**
 * Finds an instance by its data directory, or by its configuration as `pombo serve` finds it. Both: the
 * configuration is used for that directory. Throws StartError.
 */
export function findInstance(
  named: { config: string | undefined; dataDir: string | undefined },
  env: Environment,
): InstancePlace {
  if (named.dataDir === undefined) {
    const file = findFile(named.config, env);
    return {
      dataDir: dataDirOf(readOrExplain(file)) ?? readConfig(file, env).dataDir,
      config: () => readConfig(file, env),
    };
  }
  const dataDir = resolve(named.dataDir);
  return { dataDir, config: () => configFor(dataDir, named.config, env) };
}

function configFor(dataDir: string, named: string | undefined, env: Environment): Config {
  const config = readConfig(named, env);
  if (config.dataDir === dataDir) return config;
  if (named === undefined) {
    throw new StartError(
      `No pombo runs on ${dataDir}, and the configuration that was found belongs to ${config.dataDir}. Name that of ${dataDir} with --config FILE.`,
    );
  }
  const { secrets } = config;
  const isKeyInside = secrets.instanceKeyFile === join(config.dataDir, "instance.key");
  const instanceKeyFile = isKeyInside ? join(dataDir, "instance.key") : secrets.instanceKeyFile;
  return { ...config, dataDir, secrets: { ...secrets, instanceKeyFile } };
}

/** Where the configuration is, as an absolute path. Throws StartError when there is none. */
export function configFileOf(named: string | undefined, env: Environment): string {
  return resolve(findFile(named, env));
}

function findFile(named: string | undefined, env: Environment): string {
  const file = named ?? env["POMBO_CONFIG"] ?? PLACES.find((place) => read(place) !== null) ?? null;
  if (file !== null) return file;
  throw new StartError(
    `There is no configuration: looked for ${PLACES.join(" and ")}. Make one with pombo init, or name it with --config FILE.`,
  );
}

function readOrExplain(file: string): string {
  try {
    return readText(file);
  } catch (error) {
    if (error instanceof StartError) throw error;
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
    return readText(file);
  } catch (error) {
    if (error instanceof StartError) throw error;
    return null;
  }
}

/** Of a file that is not root's, root takes no orders: it becomes its owner, and does what that user may. */
function readText(file: string): string {
  becomeOwnerOfConfig(file);
  // O_NONBLOCK: opening a pipe by mistake would wait for ever.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error("it is no plain file");
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}
