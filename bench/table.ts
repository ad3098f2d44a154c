// Tables and bounds, as every benchmark but the first prints them.

import type { Report } from "./report.ts";

/** What a measured value must be; the exit code of a benchmark is 1 unless all are held. */
export interface Bound {
  name: string;
  value: number;
  must: "be at least" | "be at most";
  limit: number;
  unit: string;
}

export function isHeld({ value, must, limit }: Bound): boolean {
  // NaN, from nothing measured, holds nothing.
  return must === "be at least" ? value >= limit : value <= limit;
}

export function formatBounds(bounds: Bound[]): string[] {
  return bounds.map((bound) => {
    const { name, value, must, limit, unit } = bound;
    const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
    const side = must === "be at least" ? "floor" : "ceiling";
    return `${name}: ${value.toFixed(digits)}${unit} (${side} ${limit}${unit})${isHeld(bound) ? "" : "  MISSED"}`;
  });
}

/** The first column to the left, the others to the right. Rows may be shorter than the longest. */
export function alignRows(rows: string[][]): string[] {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    widths
      .map((width, column) => (column === 0 ? (row[0] ?? "").padEnd(width) : (row[column] ?? "").padStart(width)))
      .join("  ")
      .trimEnd(),
  );
}

/** 12345.6 → "12,346" */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

export function machineLines(machine: Report["machine"], app: string): string[] {
  return [
    `machine: ${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, ${machine.kernel}, ` +
      `${whole(machine.fsyncsPerSecond)} fsyncs/s, load before ${machine.loadAverage.toFixed(2)}`,
    `app: ${app}`,
  ];
}
