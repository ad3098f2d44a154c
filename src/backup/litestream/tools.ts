// All that is needed to run the daemon for a data directory, be it to replicate, to look or to restore.

import { hostname } from "node:os";
import type { ReplicationConfig } from "../../config/config.ts";
import { StartError } from "../../platform/errors.ts";
import { readSecret } from "../../config/secret-files.ts";
import { buildDaemonEnvironment, getPlaces, type Places } from "./config.ts";
import { createDaemonFolder, openDaemon } from "./executable.ts";
import { type CommandResult, runCommand } from "./run.ts";

export interface DaemonTools {
  path: string;
  places: Places;
  /** The folder of all that is the daemon's. */
  folder: string;
  replication: ReplicationConfig;
  environment: Record<string, string>;
  /** The name of this machine. */
  host: string;
  /** Runs one of its commands to its end: `words`, the configuration, `rest`. */
  run: (words: string[], rest: string[], how: { config: string; limitMs: number }) => Promise<CommandResult>;
}

/** Unpacks the daemon. `replication.url` must be set. `signal` ends its commands. Throws StartError. */
export async function openTools(
  replication: ReplicationConfig,
  at: { dataDir: string; database: string },
  signal?: AbortSignal,
): Promise<DaemonTools> {
  const folder = createDaemonFolder(at.dataDir);
  const environment = buildDaemonEnvironment(replication, readSecretAccessKey(replication));
  const path = await openDaemon(at.dataDir);
  return {
    path,
    places: getPlaces(at.dataDir, at.database),
    folder,
    replication,
    environment,
    host: hostname(),
    run: ([command = "", ...words], rest, { config, limitMs }) =>
      runCommand([path, command, "-config", "/dev/stdin", "-no-expand-env", ...words, ...rest], {
        env: environment,
        input: config,
        limitMs,
        signal,
      }),
  };
}

function readSecretAccessKey({ secretAccessKeyFile }: ReplicationConfig): string | null {
  if (secretAccessKeyFile === null) return null;
  const errors: string[] = [];
  const secret = readSecret(secretAccessKeyFile, "replication.secret_access_key_file", errors);
  if (errors.length > 0) throw new StartError(errors.join("\n"));
  return secret;
}
