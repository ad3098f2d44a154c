// What `script/bench retention` says at the end.

import { quantile } from "./load.ts";
import type { DeliveryResult } from "./pombo.ts";
import type { Holds, RemovalFigures, ShrinkFigures } from "./removal.ts";
import type { Report } from "./report.ts";
import type { Filled } from "./rows.ts";
import { alignRows, type Bound, formatBounds, machineLines, whole } from "./table.ts";

const HOLD_LIMIT_MS = 10;
const RATE_FLOOR = 0.95;

export interface RetentionFigures {
  machine: Report["machine"];
  app: string;
  rounds: { without: DeliveryResult; beside: DeliveryResult; removedPerSecond: number }[];
  /** Old emails. */
  rows: number;
  filled: Filled;
  removal: RemovalFigures;
  shrink: ShrinkFigures;
}

export function judgeRetention({ rounds, removal, shrink }: RetentionFigures): Bound[] {
  const ratios = rounds.map(({ without, beside }) => beside.deliveredPerSecond / without.deliveredPerSecond);
  const hold = (name: string, values: number[]): Bound => ({
    ...{ name, value: quantile(values, 0.99), limit: HOLD_LIMIT_MS, unit: " ms" },
    must: "be at most",
  });
  return [
    { name: "delivery rate with / without", value: median(ratios), must: "be at least", limit: RATE_FLOOR, unit: "" },
    hold("a batch, p99 of the thread's processor time", removal.batches.cpu),
    hold("a step of the shrinking, p99 of the thread's processor time", shrink.steps.cpu),
  ];
}

export function formatRetention(figures: RetentionFigures): string {
  const { machine, app, rows, rounds, filled, removal, shrink } = figures;
  const { batches } = removal;
  const rate = ({ deliveredPerSecond }: DeliveryResult) => whole(deliveredPerSecond);
  const holds = (name: string, values: number[]) => [
    name,
    ...[0.5, 0.99, 1].map((share) => `${quantile(values, share).toFixed(1)} ms`),
  ];
  const both = (name: string, { wall, cpu }: Holds) => [
    holds(`${name}, wall`, wall),
    holds(`${name}, thread CPU`, cpu),
  ];
  return [
    ...machineLines(machine, app),
    `${whole(rows)} old emails of ${whole(filled.rows)}, a database of ${(filled.databaseBytes / 1e9).toFixed(2)} GB, written in ${filled.seconds.toFixed(0)} s`,
    "",
    ...alignRows([
      ["delivered a second", "without", "with", "removed a second"],
      ...rounds.map(({ without, beside, removedPerSecond }, index) => [
        `round ${index + 1}`,
        rate(without),
        rate(beside),
        whole(removedPerSecond),
      ]),
    ]),
    "",
    ...alignRows([
      ["how long", "p50", "p99", "max"],
      ...both(`a batch (${whole(batches.wall.length)})`, batches),
      ...both(`a step of the shrinking (${whole(shrink.steps.wall.length)})`, shrink.steps),
    ]),
    "",
    `removed without other load: ${whole(removal.recordsPerSecond)} a second, so ${whole(rows)} in ${(rows / removal.recordsPerSecond / 60).toFixed(1)} min`,
    `written to the log (what a replica gets, before compression): ${whole(removal.walBytesPerRecord)} bytes a removed email; ` +
      `${(shrink.walBytes / 1e6).toFixed(1)} MB to give ${whole(shrink.pages)} pages (${((shrink.pages * 4096) / 1e6).toFixed(1)} MB) back`,
    `file: ${(removal.bytesBefore / 1e6).toFixed(0)} MB before, ${(shrink.bytesAfter / 1e6).toFixed(0)} MB after`,
    "",
    ...formatBounds(judgeRetention(figures)),
  ].join("\n");
}

/** The lower one where two are in the middle. */
function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}
