// Finds a replica folder that is on the disk of the database, as when nothing is mounted there.

import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** What to do about it, in a sentence or two; null: the replica is elsewhere, or that cannot be seen. */
export function describeSameDisk(url: string, dataDir: string): string | null {
  if (!url.startsWith("/")) return null;
  const replica = findFirst(url);
  const data = findFirst(dataDir);
  if (replica === null || data === null || replica.dev !== data.dev) return null;
  return `The replica's folder ${url} is on the same disk as the database, and would be lost with it. Mount another disk there and start pombo again, or give [replication] url a place elsewhere.`;
}

/** Stats of the folder, or of its nearest existing parent, where it would be made. */
function findFirst(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? (path === dirname(path) ? null : findFirst(dirname(path)));
  } catch {
    return null;
  }
}
