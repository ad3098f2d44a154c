// How much memory this process may use: the machine's, or what its cgroup allows (MemoryMax= of the unit, a
// container's limit).

import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";

/** Reads a file of the system; null: there is none. */
type ReadFile = (path: string) => string | null;

const ROOT = "/sys/fs/cgroup";
/** Where each version of cgroups (cgroups(7)) has its tree, and in which file its limit. */
const V1 = { root: join(ROOT, "memory"), file: "memory.limit_in_bytes" };
const V2 = { root: ROOT, file: "memory.max" };

export function usableMemory(): number {
  return memoryWithin(totalmem(), readOrNull);
}

/** The least of `machineBytes` and the limits of all cgroups that this process is in. */
export function memoryWithin(machineBytes: number, read: ReadFile): number {
  let least = machineBytes;
  for (const line of (read("/proc/self/cgroup") ?? "").split("\n")) {
    // hierarchy:controllers:path
    const [, controllers, ...rest] = line.split(":");
    if (controllers !== "" && !controllers?.split(",").includes("memory")) continue;
    const { root, file } = controllers === "" ? V2 : V1;
    for (const path of upwards(rest.join(":"))) {
      const limit = Number.parseInt(read(join(root, path, file)) ?? "", 10);
      if (limit > 0) least = Math.min(least, limit);
    }
  }
  return least;
}

/** A path and all above it; in a container the tree may begin below the path that is named. */
function upwards(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...upwards(above)];
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
