import { join } from "node:path";
import type { ReplicationConfig } from "../../config/config.ts";

// What the daemon is told: its configuration as text, and its environment. Pure.

/** Where things are of a data directory that is replicated. */
export interface Places {
  /** The replicated database. */
  database: string;
  /** A small second one, which tells whose replica it is (replica-owner.ts). */
  owner: string;
  /** The daemon's configuration, 0600. */
  config: string;
  /** The same for a daemon that has to take a snapshot at once. */
  snapshotConfig: string;
  /** What the daemon keeps of each database: without it, it begins with a whole copy. */
  state: string;
  ownerState: string;
  /** Where the daemon answers. Short: the path of a socket has at most 107 bytes. */
  socket: string;
}

export function placesOf(dataDir: string, databaseFile: string): Places {
  const folder = join(dataDir, "litestream");
  return {
    database: databaseFile,
    owner: join(folder, "owner.db"),
    config: join(folder, "litestream.yml"),
    snapshotConfig: join(folder, "snapshot-now.yml"),
    state: join(folder, "state"),
    ownerState: join(folder, "owner-state"),
    socket: join(dataDir, "lite.sock"),
  };
}

/** What the daemon gives its last copying of each of the two databases at a stop. */
const LAST_SYNC_MS = 8_000;
const SOCKET_MODE = 0o600;
/** The daemon takes a snapshot at the next multiple of its interval; it has no other way to be asked for one. */
export const SNAPSHOT_NOW_MS = 30_000;

/** Its configuration. Written as JSON, which is YAML whose quoting cannot go wrong; for `-no-expand-env`. */
export function daemonConfig(replication: ReplicationConfig, places: Places): string {
  const { snapshotIntervalMs, retentionMs } = replication;
  const text = {
    socket: { enabled: true, path: places.socket, permissions: SOCKET_MODE },
    // Its figures come by the socket; of what goes well it need not speak.
    logging: { level: "warn", type: "json", stderr: true },
    snapshot: { interval: milliseconds(snapshotIntervalMs), retention: milliseconds(retentionMs) },
    "shutdown-sync-timeout": milliseconds(LAST_SYNC_MS),
    dbs: [
      database(places.database, places.state, replicaOf(replication, "")),
      database(places.owner, places.ownerState, replicaOf(replication, "/owner")),
    ],
  };
  return `${JSON.stringify(text, null, 2)}\n`;
}

/** The variables it is started with, and no others. `secretAccessKey` as read from its file, or null. */
export function daemonEnvironment(
  replication: ReplicationConfig,
  secretAccessKey: string | null,
): Record<string, string> {
  const { accessKeyId, network = {} } = replication;
  const secret = replication.secretAccessKey ?? secretAccessKey;
  return {
    ...network,
    ...(accessKeyId === null || secret === null
      ? {}
      : { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secret }),
  };
}

function database(path: string, state: string, replica: object) {
  // Not auto-recover: it would begin to count from 1 again, beside what is in the replica. We do it (bridge.ts).
  return { path, "meta-path": state, replica };
}

function replicaOf(replication: ReplicationConfig, below: string): Record<string, unknown> {
  const { endpoint, region, sftpKeyFile, sftpHostKey, syncIntervalMs } = replication;
  const url = `${replication.url ?? ""}${below}`;
  const interval = { "sync-interval": milliseconds(syncIntervalMs) };
  if (url.startsWith("s3:")) {
    return { url, ...(endpoint === null ? {} : { endpoint }), ...(region === "" ? {} : { region }), ...interval };
  }
  if (url.startsWith("sftp:")) {
    const key = sftpKeyFile === null ? {} : { "key-path": sftpKeyFile };
    return { url, ...key, ...(sftpHostKey === null ? {} : { "host-key": sftpHostKey }), ...interval };
  }
  return { type: "file", path: url, ...interval };
}

function milliseconds(ms: number): string {
  return `${ms}ms`;
}
