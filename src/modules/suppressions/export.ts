// A workspace's suppressions as a CSV file.

import { answerCsv, nameCsv } from "../../platform/http/csv-file.ts";
import type { Position } from "../../platform/http/pagination.ts";
import { CSV_HEADER_LINE, toCsvLine } from "./csv.ts";
import { showSuppression } from "./serialize.ts";
import type { SuppressionFilter, SuppressionStore } from "./store.ts";

/** Rows read in one turn of the event loop: a few milliseconds. */
const PIECE_ROWS = 500;

interface ExportDeps {
  suppressions: Pick<SuppressionStore, "list">;
  now: number;
  requireReader: () => void;
}

/** Newest first; what is suppressed after it began is not in it. */
export function exportSuppressions(filter: SuppressionFilter, deps: ExportDeps): Response {
  let before: Position | null = null;
  return answerCsv({
    filename: nameCsv("suppressions", deps.now),
    header: CSV_HEADER_LINE,
    readPiece() {
      const rows = deps.suppressions.list(filter, before, PIECE_ROWS);
      const piece = rows.slice(0, PIECE_ROWS);
      before = piece.at(-1) ?? null;
      return { lines: piece.map((row) => toCsvLine(showSuppression(row))), isLast: rows.length <= PIECE_ROWS };
    },
    requireReader: deps.requireReader,
  });
}
