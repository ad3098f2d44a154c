// A control group that limits the memory of what is started in it, as MemoryMax= of a unit does.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getErrorMessage } from "../../../src/platform/errors.ts";
import type { Cleanup } from "./process.ts";

const ROOT = "/sys/fs/cgroup";

export interface MemoryGroup {
  /** The words that start a command in it. */
  prefix: readonly string[];
  setLimit(bytes: number): void;
}

/** A sentence where this machine lets nobody make one. cgroups(7): version 2 has one tree, version 1 one for memory. */
export function makeMemoryGroup(cleanup: Cleanup): MemoryGroup | { reason: string } {
  const isUnified = existsSync(join(ROOT, "cgroup.controllers"));
  const folder = join(ROOT, isUnified ? "" : "memory", `pombo-doctor-${process.pid}`);
  const limitFile = join(folder, isUnified ? "memory.max" : "memory.limit_in_bytes");
  try {
    mkdirSync(folder);
    cleanup.add(() => rmdirSync(folder));
    readFileSync(limitFile, "latin1");
  } catch (error) {
    return { reason: getErrorMessage(error) };
  }
  return {
    prefix: ["sh", "-c", `echo $$ > ${folder}/cgroup.procs && exec "$@"`, "sh"],
    setLimit: (bytes) => writeFileSync(limitFile, String(bytes)),
  };
}
