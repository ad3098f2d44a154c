// Deletes all files below a prefix of the replica, in a folder and in S3 with an access key: the daemon cannot.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openReplicaBucket } from "./s3.ts";
import type { DaemonTools } from "./tools.ts";

const PAGE = 1_000;
const PARALLEL = 20;

/**
 * False: pombo cannot delete there (sftp, S3 by a machine's role), and the operator has to. Throws when it fails, or
 * has not ended within `limitMs`: what is deleted by then stays deleted, so that it may be repeated.
 */
export async function deletePrefix(tools: DaemonTools, prefix: string, limitMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(limitMs);
  const { promise: isLate, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(new Error(`it did not end within ${limitMs / 1_000} s`)));
  return Promise.race([deleteFiles(tools, prefix, signal), isLate]);
}

async function deleteFiles(tools: DaemonTools, prefix: string, signal: AbortSignal) {
  const url = tools.replication.url ?? "";
  if (url.startsWith("/")) {
    await rm(join(url, prefix), { recursive: true, force: true });
    return true;
  }
  const bucket = await openReplicaBucket(tools, signal);
  if (bucket === null) return false;
  const { client, toKey } = bucket;
  while (!signal.aborted) {
    const { contents = [] } = await client.list({ prefix: `${toKey(prefix)}/`, maxKeys: PAGE });
    if (contents.length === 0) return true;
    for (let from = 0; from < contents.length && !signal.aborted; from += PARALLEL)
      await Promise.all(contents.slice(from, from + PARALLEL).map(({ key }) => client.delete(key)));
  }
  return false;
}
