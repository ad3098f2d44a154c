// `[standby]`: several machines, of which one has the lease and works.

import { type Static, Type } from "@sinclair/typebox";
import { duration } from "./fields.ts";
import type { ReplicationConfig } from "./replication.ts";
import type { ConfigError } from "./toml.ts";

/** Below it a slow answer of the service would end a term. */
const MIN_LEASE_MS = 3_000;

export const StandbySchema = Type.Object({
  leaseMs: duration(
    ["0s", "10m"],
    'How long a machine that has fallen silent keeps the lease; then another takes over. 0s = this is the only machine; otherwise at least 3s. Needs a replica in S3 with a key, and acknowledge = "replica".',
    "0s",
  ),
});

/** `standby` and `replication` may be incomplete after errors. */
export function checkStandby(
  { leaseMs }: Static<typeof StandbySchema>,
  { url, acknowledge, accessKeyId }: ReplicationConfig,
  errors: ConfigError[],
): void {
  if (!(leaseMs > 0)) return;
  if (leaseMs < MIN_LEASE_MS)
    errors.push({ key: "standby.lease", found: `${leaseMs}ms`, expected: 'at least "3s", or "0s" for none' });
  if (acknowledge === "disk")
    errors.push({
      key: "replication.acknowledge",
      found: '"disk" with a [standby] lease',
      expected: '"replica", so that the machine that takes over has all that was promised',
    });
  if (url !== undefined && url?.startsWith("s3:") !== true)
    errors.push({
      key: "replication.url",
      found: "no bucket with a [standby] lease",
      expected: '"s3://bucket/path", where the lease is kept',
    });
  else if (accessKeyId === null)
    errors.push({
      key: "replication.access_key_id",
      found: "nothing with a [standby] lease",
      expected: "the id of an access key, with which pombo writes the lease itself",
    });
}
