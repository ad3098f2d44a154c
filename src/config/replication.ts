// `[replication]`: the continuous copy of the database. Secrets are in files or in the environment.

import { type Static, Type } from "@sinclair/typebox";
import { choice, duration, optional, text } from "./fields.ts";
import { type ConfigError, showText } from "./toml.ts";

const ACCESS_KEY_ID_VARIABLE = "POMBO_REPLICATION_ACCESS_KEY_ID";
const SECRET_ACCESS_KEY_VARIABLE = "POMBO_REPLICATION_SECRET_ACCESS_KEY";
/** Network settings that the replication daemon needs too. */
const NETWORK_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"];

export const ReplicationSchema = Type.Object({
  url: optional(
    "replica_url",
    "The replica of the database: s3://bucket/path, sftp://user@host/path or a folder on another disk; empty = none.",
  ),
  endpoint: optional("endpoint", "The URL of an S3 service other than Amazon's."),
  region: text("region", "The region of the bucket; empty = detected.", ""),
  accessKeyId: optional("account", "The id of the S3 access key; or the variable POMBO_REPLICATION_ACCESS_KEY_ID."),
  secretAccessKeyFile: optional(
    "optional_path",
    "The file with its secret; or the variable POMBO_REPLICATION_SECRET_ACCESS_KEY.",
  ),
  sftpKeyFile: optional("optional_path", "The private key for SFTP, in OpenSSH's format."),
  sftpHostKey: optional("account", 'The public key of the SFTP server, such as "ssh-ed25519 AAAA…".'),
  syncIntervalMs: duration(
    ["100ms", "1h"],
    "How often changes are copied. If the disk is lost, so are the changes since the last copy; under load a few seconds more.",
    "1s",
  ),
  acknowledge: choice(
    ["disk", "replica"],
    '"replica" = answers (202, 250), the end of each email, parts of SMS and webhook calls wait until the replica has what was stored, so that nothing answered is lost with the machine. "disk" = they wait for this machine\'s disk only.',
    { default: "disk" },
  ),
  snapshotIntervalMs: duration(["10m", "7d"], "How often a whole copy is made, from which a restore starts.", "6h"),
  retentionMs: duration(["1h", "365d"], "How far back the database can be restored.", "72h"),
});

/**
 * `url` null = nothing is replicated. From the environment come `secretAccessKey` (null = from the file, or the
 * machine's own role) and `network`, variables for the daemon.
 */
export type ReplicationConfig = Static<typeof ReplicationSchema> & {
  secretAccessKey?: string;
  network?: Record<string, string>;
};

const HOST_KEY = /^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,2}( .*)?$/;

function describeHostKey(url: string): string {
  const [, host = "HOST", port] = /^sftp:\/\/[^@/]*@([^:/]+)(?::(\d+))?\//i.exec(url) ?? [];
  const asked = `ssh-keyscan -t ed25519 ${port === undefined ? "" : `-p ${port} `}${host}`;
  return `the server's public key, "ssh-ed25519 AAAA…": ${asked} prints it after the name; compare it with the one that the server's operator publishes`;
}

/** Adds values from the environment, and checks keys against each other. `replication` may be incomplete after errors. */
export function completeReplication(
  replication: ReplicationConfig,
  env: Record<string, string | undefined>,
  errors: ConfigError[],
): void {
  const note = (key: string, found: string, expected: string) =>
    errors.push({ key: `replication.${key}`, found, expected });
  const { url, snapshotIntervalMs, retentionMs } = replication;
  replication.accessKeyId ??= env[ACCESS_KEY_ID_VARIABLE] || null;
  const secret = env[SECRET_ACCESS_KEY_VARIABLE] ?? "";
  if (secret !== "") {
    if (replication.secretAccessKeyFile !== null) {
      note("secret_access_key_file", `${SECRET_ACCESS_KEY_VARIABLE} as well`, "only one of the two");
    }
    replication.secretAccessKey = secret;
  }
  replication.network = Object.fromEntries(NETWORK_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  if (url === null && replication.acknowledge === "replica")
    note("acknowledge", '"replica" without a url', '"disk", or the url of a replica');
  const isS3 = url?.startsWith("s3:") ?? false;
  if (isS3 && (replication.accessKeyId === null) !== (secret === "" && replication.secretAccessKeyFile === null)) {
    const expected =
      "an id and its secret (secret_access_key_file or the environment), or neither, for the machine's role";
    note("access_key_id", "one without the other", expected);
  }
  if (url?.startsWith("sftp:") && replication.sftpKeyFile === null) {
    note("sftp_key_file", "nothing", "the private key for the SFTP server");
  }
  // Without it an attacker on the network would get the database.
  const { sftpHostKey } = replication;
  if (url?.startsWith("sftp:") && !HOST_KEY.test(sftpHostKey ?? "")) {
    note("sftp_host_key", sftpHostKey === null ? "nothing" : showText(sftpHostKey), describeHostKey(url));
  }
  if (snapshotIntervalMs > retentionMs) {
    note("snapshot_interval", "more than retention", "at most retention, or a restore would sometimes be impossible");
  }
}
