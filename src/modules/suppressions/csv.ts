// Suppressions as CSV: the columns that exports write and imports read.

import { csvLine } from "../../platform/csv.ts";
import type { Suppression } from "./schema.ts";

export const CSV_HEADER = ["address", "channel", "reason", "suppressedAt", "list"] as const;

/** Without their line's end. */
export const CSV_HEADER_LINE = csvLine(CSV_HEADER);

export function toCsvLine(suppression: typeof Suppression.static): string {
  return csvLine(CSV_HEADER.map((name) => suppression[name] ?? ""));
}
