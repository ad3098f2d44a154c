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
