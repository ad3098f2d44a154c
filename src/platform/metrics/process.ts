import { readdirSync, readFileSync } from "node:fs";
import { getFileSize } from "../data-files.ts";

/** Memory and processor time of this process. */
export function readProcess(): { residentBytes: number; heapBytes: number; cpuSeconds: number } {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { residentBytes: rss, heapBytes: heapUsed, cpuSeconds: (user + system) / 1e6 };
}

/** Sizes of a database file and its write-ahead log; 0 for what is not there. */
export function readFileSizes(databaseFile: string): { databaseBytes: number; walBytes: number } {
  return { databaseBytes: getFileSize(databaseFile), walBytes: getFileSize(`${databaseFile}-wal`) };
}

/** Open files and sockets of this process, and how many it may have; null: the system does not say. */
export function readDescriptors(): { open: number; limit: number } | null {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    if (limit === undefined) return null;
    return { open: readdirSync("/proc/self/fd").length, limit: Number(limit) };
  } catch {
    return null;
  }
}
