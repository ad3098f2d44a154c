import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Config, readDataDir, formatConfigErrors, parseConfig } from "../../config/config.ts";
import { FinalStartError, getErrorCode, StartError } from "../../platform/errors.ts";
import { becomeOwnerOfConfig } from "./data-owner.ts";

type Environment = Record<string, string | undefined>;

/** Searched in this order if neither --config nor POMBO_CONFIG names a file. */
export const PLACES = ["pombo.toml", "/etc/pombo/config.toml", "/etc/pombo/pombo.toml"];

/** Reads and checks the configuration file. Throws StartError with all errors. */
export function readConfig(named: string | undefined, env: Environment): Config {
  const file = findFile(named, env);
  const parsed = parseConfig(readOrExplain(file), { file, env });
  if (parsed.kind === "config") return parsed.config;
  const count = parsed.errors.length;
  throw new StartError(
    `${formatConfigErrors(file, parsed.errors)}\nCorrect ${count === 1 ? "this error" : `these ${count} errors`}, then start pombo again.`,
  );
}

/** An instance, running or not. */
export interface InstancePlace {
  dataDir: string;
  /** The whole configuration; a running instance does not need it here. Throws StartError. */
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
    const file = findInstanceFile(named.config, env);
    return {
      dataDir: readDataDir(readOrExplain(file)) ?? readConfig(file, env).dataDir,
      config: () => readConfig(file, env),
    };
  }
  const dataDir = resolve(named.dataDir);
  return { dataDir, config: () => configFor(dataDir, named.config, env) };
}

/** As findFile; a sandbox has no configuration to be found. */
function findInstanceFile(named: string | undefined, env: Environment): string {
  try {
    return findFile(named, env);
  } catch (error) {
    if (!(error instanceof StartError) || error instanceof FinalStartError) throw error;
    throw new StartError(
      `${error.message} A sandbox is reached by --data-dir with the Data folder that pombo dev prints.`,
    );
  }
}

function configFor(dataDir: string, named: string | undefined, env: Environment): Config {
  const config = readConfigOfStopped(dataDir, named, env);
  if (config.dataDir === dataDir) return config;
  if (named === undefined) {
    throw new StartError(
      `No pombo runs on ${dataDir}, and the configuration found is of ${config.dataDir}. Name the right one with --config FILE.`,
    );
  }
  const { secrets } = config;
  const isKeyInside = secrets.instanceKeyFile === join(config.dataDir, "instance.key");
  const instanceKeyFile = isKeyInside ? join(dataDir, "instance.key") : secrets.instanceKeyFile;
  return { ...config, dataDir, secrets: { ...secrets, instanceKeyFile } };
}

/** It is needed because no instance runs there, which the message says first. */
function readConfigOfStopped(dataDir: string, named: string | undefined, env: Environment): Config {
  try {
    return readConfig(named, env);
  } catch (error) {
    if (!(error instanceof StartError) || error instanceof FinalStartError) throw error;
    throw new StartError(`No pombo runs on ${dataDir}. ${error.message}`);
  }
}

/** The absolute path of the configuration. Throws StartError when there is none. */
export function findConfigFile(named: string | undefined, env: Environment): string {
  return resolve(findFile(named, env));
}

function findFile(named: string | undefined, env: Environment): string {
  const file = named ?? env["POMBO_CONFIG"] ?? PLACES.find((place) => read(place) !== null) ?? null;
  if (file !== null) return file;
  const hidden = PLACES.find(isHidden);
  if (hidden !== undefined) throw new FinalStartError(describeHidden(hidden));
  throw new StartError(
    `There is no configuration at ${PLACES.join(" or ")}. Create one with pombo init, or name it with --config FILE.`,
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
        `There is no configuration at ${file}. Create one with pombo init --config ${file}, or name another with --config FILE.`,
      );
    }
    if (code === "EACCES") throw new FinalStartError(describeHidden(file));
    throw new StartError(
      `The configuration ${file} cannot be read (${message}). Run pombo as the user that owns the file, or name another with --config FILE.`,
    );
  }
}

/** Whether this user may not look: the folder of a service's configuration is closed to others. */
function isHidden(file: string): boolean {
  try {
    readText(file);
  } catch (error) {
    return getErrorCode(error) === "EACCES";
  }
  return false;
}

function describeHidden(file: string): string {
  return `This user may not read ${file}. Run the command as the user that pombo runs as, for example: sudo -u pombo pombo status`;
}

function read(file: string): string | null {
  try {
    return readText(file);
  } catch (error) {
    if (error instanceof StartError) throw error;
    return null;
  }
}

/** Root does not trust another user's file: it becomes that user first. */
function readText(file: string): string {
  becomeOwnerOfConfig(file);
  // O_NONBLOCK: opening a pipe by mistake would wait for ever.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error("it is not a regular file");
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}
