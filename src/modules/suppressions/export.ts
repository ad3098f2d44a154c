// A workspace's suppressions as a CSV file, written as fast as its reader takes it.

import { toIsoTime } from "../../platform/http/times.ts";
import type { Position } from "../../platform/http/pagination.ts";
import { CSV_HEADER_LINE, CSV_LINE_END, toCsvLine } from "./csv.ts";
import { showSuppression } from "./serialize.ts";
import type { SuppressionFilter, SuppressionStore } from "./store.ts";

/** Rows read in one turn of the event loop: a few milliseconds. */
const PIECE_ROWS = 500;

const encoder = new TextEncoder();

/** Newest first; what is suppressed after it began is not in it. */
export function streamCsv(
  filter: SuppressionFilter,
  suppressions: Pick<SuppressionStore, "list">,
): ReadableStream<Uint8Array> {
  let before: Position | null = null;
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(encoder.encode(CSV_HEADER_LINE + CSV_LINE_END)),
      pull(controller) {
        const rows = suppressions.list(filter, before, PIECE_ROWS);
        const piece = rows.slice(0, PIECE_ROWS);
        const lines = piece.map((row) => toCsvLine(showSuppression(row)) + CSV_LINE_END);
        if (lines.length > 0) controller.enqueue(encoder.encode(lines.join("")));
        before = piece.at(-1) ?? null;
        if (rows.length <= PIECE_ROWS) controller.close();
      },
    },
    { highWaterMark: 1 },
  );
}

/** As `suppressions-2026-11-24.csv`. */
export function nameCsv(now: number): string {
  return `suppressions-${toIsoTime(now).slice(0, 10)}.csv`;
}
