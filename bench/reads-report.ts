// What `script/bench reads` says at the end.

import type { ReadResult } from "./get-load.ts";
import { megabytes, type Resident } from "./memory.ts";
import type { Report } from "./report.ts";
import type { Filled } from "./rows.ts";
import { alignRows, type Bound, formatBounds, machineLines, whole } from "./table.ts";

const MEDIAN_LIMIT_MS = 5;
/** Of each request that a page of the dashboard makes. */
const PAGE_P99_LIMIT_MS = 100;

export interface Reading {
  name: string;
  /** What the list says that there are; null: no list. */
  listed: string | null;
  connections: number;
  result: ReadResult;
  hasBound: boolean;
  isPage?: boolean;
}

export interface ReadsFigures {
  machine: Report["machine"];
  app: string;
  filled: Filled;
  startMs: number;
  /** After all reads. */
  resident: Resident;
  readings: Reading[];
}

export function judgeReads({ readings }: ReadsFigures): Bound[] {
  return readings
    .filter(({ hasBound }) => hasBound)
    .map(({ name, connections, result, isPage = false }) => ({
      name: `${name}, ${connections} at once, ${isPage ? "p99" : "median"}`,
      value: isPage ? result.latencyMs.p99 : result.latencyMs.p50,
      must: "be at most",
      limit: isPage ? PAGE_P99_LIMIT_MS : MEDIAN_LIMIT_MS,
      unit: " ms",
    }));
}

export function formatReads(figures: ReadsFigures): string {
  const { machine, app, filled, startMs, resident, readings } = figures;
  return [
    ...machineLines(machine, app),
    `${whole(filled.rows)} emails, half of them waiting, a database of ${(filled.databaseBytes / 1e9).toFixed(1)} GB, written in ` +
      `${filled.seconds.toFixed(0)} s; ready ${(startMs / 1000).toFixed(1)} s after the start; ` +
      `${whole(megabytes(resident.peak))} MB at the most`,
    "",
    ...alignRows([
      ["request", "listed", "connections", "requests/s", "p50 ms", "p99 ms", "max ms", "bytes"],
      ...readings.map(({ name, listed, connections, result }) => [
        name,
        listed ?? "",
        `${connections}`,
        whole(result.perSecond),
        ...[result.latencyMs.p50, result.latencyMs.p99, result.latencyMs.max].map((ms) => ms.toFixed(2)),
        whole(result.answerBytes),
      ]),
    ]),
    "",
    ...formatBounds(judgeReads(figures)),
  ].join("\n");
}
