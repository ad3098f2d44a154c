// The daemon's configuration as text, and its environment. Pure.

import { join } from "node:path";
import type { ReplicationConfig } from "../../config/config.ts";

/** Where things are in a data directory that is replicated. */
export interface Places {
  database: string;
  /** A small second one, which says whose replica it is (record.ts). */
  owner: string;
  /** The running daemon's configuration, 0600. */
  config: string;
  /** One folder, named after the current lineage: the daemon's local state. */
  lineages: string;
  /** Where the daemon answers. Short: the path of a socket has at most 107 bytes. */
  socket: string;
}

export function getPlaces(dataDir: string, databaseFile: string): Places {
  const folder = join(dataDir, "litestream");
  return {
    database: databaseFile,
    owner: join(folder, "owner.db"),
    config: join(folder, "litestream.yml"),
    lineages: join(folder, "lineages"),
    socket: join(dataDir, "lite.sock"),
  };
}

/** The folder where the daemon keeps its state of one database: the steps it has not copied yet, and the last one. */
export function getStateFolder({ lineages }: Places, lineage: string, part: "database" | "owner"): string {
  return join(lineages, lineage, part);
}

/** What the daemon gives its last copying of each of the two databases at a stop. */
const LAST_SYNC_MS = 8_000;
const SOCKET_MODE = 0o600;
/** Older whole copies of the catalog; a reader may have begun with one. */
const CATALOG_RETENTION_MS = 3_600_000;
// Its figures come by the socket; it need not log what goes well.
const LOGGING = { level: "warn", type: "json", stderr: true };

/** For `-no-expand-env`. Written as JSON, which is YAML whose quoting cannot go wrong. */
export function formatDaemonConfig(replication: ReplicationConfig, places: Places, lineage: string): string {
  const { snapshotIntervalMs, retentionMs } = replication;
  return format({
    socket: { enabled: true, path: places.socket, permissions: SOCKET_MODE },
    logging: LOGGING,
    snapshot: { interval: milliseconds(snapshotIntervalMs), retention: milliseconds(retentionMs) },
    "shutdown-sync-timeout": milliseconds(LAST_SYNC_MS),
    // Not auto-recover: it would count from 1 again in the same lineage. A new lineage is begun instead.
    dbs: (["database", "owner"] as const).map((part) => ({
      path: places[part],
      "meta-path": getStateFolder(places, lineage, part),
      replica: buildReplica(replication, part === "owner" ? `${lineage}/owner` : lineage),
    })),
  });
}

/** The catalog's folder or prefix in the replica. */
export const CATALOG = "catalog";

/** The same for one write or reading of the catalog, whose database is `file` for the moment. */
export function formatCatalogConfig(replication: ReplicationConfig, file: string): string {
  return format({
    logging: LOGGING,
    snapshot: { retention: milliseconds(CATALOG_RETENTION_MS) },
    dbs: [{ path: file, "meta-path": `${file}-state`, replica: buildReplica(replication, CATALOG) }],
  });
}

/** The variables it is started with, and no others. `secretAccessKey` as read from its file, or null. */
export function buildDaemonEnvironment(
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

function format(config: object): string {
  return `${JSON.stringify(config, null, 2)}\n`;
}

function buildReplica(replication: ReplicationConfig, below: string): Record<string, unknown> {
  const { endpoint, region, sftpKeyFile, sftpHostKey, syncIntervalMs } = replication;
  const url = `${replication.url ?? ""}/${below}`;
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
