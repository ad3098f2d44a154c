import { rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import type { ReplicationConfig } from "../../config/config.ts";
import { StartError } from "../../platform/errors.ts";
import { readSecret } from "../../config/secret-files.ts";
import { daemonConfig, daemonEnvironment, type Places, placesOf, SNAPSHOT_NOW_MS } from "./config.ts";
import { daemonFolder, openDaemon } from "./executable.ts";
import { type Ran, runToEnd } from "./run.ts";

// All that is needed to run the daemon for a data directory, be it to replicate, to look or to restore.

export interface DaemonTools {
  /** The executable. */
  path: string;
  places: Places;
  /** Where all that is the daemon's is kept. */
  folder: string;
  environment: Record<string, string>;
  /** The name of this machine. */
  host: string;
  /** Runs one of its commands to its end: `words`, the configuration, `rest`. */
  run: (words: string[], rest: string[], limitMs: number) => Promise<Ran>;
}

/**
 * Unpacks the daemon and writes its configuration. `replication.url` must be set. `signal` ends its commands.
 * Throws StartError.
 */
export async function openTools(
  replication: ReplicationConfig,
  at: { dataDir: string; database: string },
  signal?: AbortSignal,
): Promise<DaemonTools> {
  const folder = daemonFolder(at.dataDir);
  const places = placesOf(at.dataDir, at.database);
  const environment = daemonEnvironment(replication, secretOf(replication));
  const path = await openDaemon(at.dataDir);
  for (const [file, changed] of [
    [places.config, {}],
    [places.snapshotConfig, { snapshotIntervalMs: SNAPSHOT_NOW_MS }],
  ] as const) {
    rmSync(file, { force: true });
    writeFileSync(file, daemonConfig({ ...replication, ...changed }, places), { mode: 0o600, flag: "wx" });
  }
  return {
    path,
    places,
    folder,
    environment,
    host: hostname(),
    run: ([command = "", ...words], rest, limitMs) =>
      runToEnd([path, command, "-config", places.config, "-no-expand-env", ...words, ...rest], {
        env: environment,
        limitMs,
        signal,
      }),
  };
}

function secretOf({ secretAccessKeyFile }: ReplicationConfig): string | null {
  if (secretAccessKeyFile === null) return null;
  const faults: string[] = [];
  const secret = readSecret(secretAccessKeyFile, "replication.secret_access_key_file", faults);
  if (faults.length > 0) throw new StartError(faults.join("\n"));
  return secret;
}
