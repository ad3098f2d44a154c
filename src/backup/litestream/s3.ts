// The bucket of a replica in S3, as pombo's own client reaches it: the daemon can neither delete there nor write on a condition.

import { posix } from "node:path";
import type { DaemonTools } from "./tools.ts";

/** A client of the bucket, and how to name an object below the replica's url; null: no bucket, or no access key for it. */
export async function openReplicaBucket(
  { replication, environment }: Pick<DaemonTools, "replication" | "environment">,
  signal: AbortSignal,
): Promise<{ client: Bun.S3Client; toKey: (name: string) => string } | null> {
  const [, bucket, path = ""] = /^s3:\/\/([^/]+)\/?(.*)$/i.exec(replication.url ?? "") ?? [];
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (bucket === undefined || accessKeyId === undefined || secretAccessKey === undefined) return null;
  const endpoint = replication.endpoint === null ? {} : { endpoint: replication.endpoint };
  const region = replication.region || (replication.endpoint === null ? await findRegion(bucket, signal) : "");
  const client = new Bun.S3Client({
    bucket,
    accessKeyId,
    secretAccessKey,
    ...endpoint,
    ...(region === "" ? {} : { region }),
  });
  return { client, toKey: (name) => posix.join(path, name) };
}

/** Amazon says it to everybody. */
async function findRegion(bucket: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(`https://s3.amazonaws.com/${bucket}`, { method: "HEAD", redirect: "manual", signal });
  return response.headers.get("x-amz-bucket-region") ?? "";
}
