// What large messages cost a replica: how far it falls behind while they are posted, when it has caught up, and whether it
// takes the whole database again.

import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { freePort, waitUntil } from "../test/support/peers/process.ts";
import { type Bench, preparePombo } from "./pombo.ts";

const SAMPLE_MS = 250;
/** pombo looks every five seconds. */
const CAUGHT_UP_S = 5.5;
const TIMEOUT_MS = 60_000;
/** The database, its owner's and the catalog. */
const BEGUN_WITH = 3;
/** Litestream's level of whole copies. */
const WHOLE_LEVEL = "9";

export interface ReplicaFigures {
  /** The most that pombo told of while they were posted and after. */
  lagS: number;
  /** From the last answer until it had all. */
  caughtUpS: number;
  /** Whole copies that were made meanwhile. */
  wholeCopies: number;
  /** Bytes that the replica grew by. */
  bytes: number;
}

/** `post` sends the large messages and resolves with their answers. */
export async function measureReplica(
  options: Omit<Parameters<typeof preparePombo>[0], "settings">,
  post: (bench: Bench) => Promise<unknown>,
): Promise<ReplicaFigures> {
  const folder = join(options.folder, "replicated");
  mkdirSync(folder);
  const replica = join(folder, "copies");
  const port = await freePort();
  const settings = { replication: { url: replica }, metrics: { listen: `127.0.0.1:${port}` } };
  const bench = await preparePombo({ ...options, folder, settings });
  const readLag = async (): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^pombo_replication_lag_seconds (.+)$/m.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
  };
  const isWhole = ({ level }: ReplicaFile) => level === WHOLE_LEVEL;
  // The daemon makes a first whole copy of each by itself.
  const hasAll = async () => listFiles(replica).filter(isWhole).length >= BEGUN_WITH && (await readLag()) < CAUGHT_UP_S;
  await waitUntil("a replica", TIMEOUT_MS, hasAll);
  const before = listFiles(replica);
  let lagS = 0;
  const sampler = setInterval(() => void readLag().then((lag) => (lagS = Math.max(lagS, lag))), SAMPLE_MS);
  await post(bench);
  const postedAt = performance.now();
  let size = -1;
  await waitUntil("the replica has all", TIMEOUT_MS, async () => {
    await Bun.sleep(SAMPLE_MS);
    const last = size;
    size = countBytes(listFiles(replica));
    return size === last && (await readLag()) < CAUGHT_UP_S;
  });
  clearInterval(sampler);
  const after = listFiles(replica);
  return {
    lagS,
    caughtUpS: (performance.now() - postedAt) / 1_000,
    wholeCopies: after.filter(isWhole).length - before.filter(isWhole).length,
    bytes: countBytes(after) - countBytes(before),
  };
}

interface ReplicaFile {
  level: string;
  bytes: number;
}

/** A lineage has a folder of its own, and in it `ltx/LEVEL/…`. */
function listFiles(replica: string): ReplicaFile[] {
  if (!existsSync(replica)) return [];
  return readdirSync(replica, { recursive: true, withFileTypes: true }).flatMap((file) => {
    const level = /\/ltx\/(\d+)$/.exec(file.parentPath)?.[1];
    if (level === undefined || !file.isFile()) return [];
    // It may be merged into another while we look.
    const stats = statSync(join(file.parentPath, file.name), { throwIfNoEntry: false });
    return stats === undefined ? [] : [{ level, bytes: stats.size }];
  });
}

function countBytes(files: ReplicaFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
