// Lists as tables: aligned and cut to the screen for people, tab-separated and in full for programs.

import { plain, timeCell } from "./text.ts";

export interface Column<Row> {
  title: string;
  of(row: Row): string | number | null;
  /** ISO 8601 in UTC; people see it without the T. */
  isTime?: boolean;
}

/** Characters of a column that is not the last. */
const MAX_CELL = 40;
/** The last column keeps at least so many. */
const MIN_LAST = 10;
const GAP = "  ";
/** An absent value. */
const NONE = "-";

/** The lines of a list. `width`: columns of the screen, null: another program reads it. */
export function tableLines<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number | null): string[] {
  if (width === null) return rows.map((row) => columns.map((column) => plainCell(column.of(row))).join("\t"));
  const titles = columns.map(({ title, isTime }) => (isTime === true ? `${title} (UTC)` : title));
  const cells = rows.map((row) => columns.map((column) => shownCell(column, row)));
  const last = columns.length - 1;
  const widths = titles.map((title, index) => {
    const widest = cells.reduce((most, line) => Math.max(most, getWidth(line[index])), getWidth(title));
    return index === last ? widest : Math.min(widest, MAX_CELL);
  });
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + GAP.length, 0);
  widths[last] = Math.min(widths[last] ?? 0, Math.max(MIN_LAST, width - before));
  const isNumeric = columns.map((column) => rows.some((row) => typeof column.of(row) === "number"));
  return [titles, ...cells].map((line) =>
    line
      .map((cell, index) => fit(cell, { width: widths[index] ?? 0, isRight: isNumeric[index] === true }))
      .join(GAP)
      .trimEnd(),
  );
}

function plainCell(value: string | number | null): string {
  if (value === null || value === "") return NONE;
  return plain(String(value));
}

function shownCell<Row>(column: Column<Row>, row: Row): string {
  const value = column.of(row);
  return typeof value === "string" && column.isTime === true ? timeCell(value) : plainCell(value);
}

function getWidth(text: string | undefined): number {
  return Bun.stringWidth(text ?? "");
}

function fit(text: string, { width, isRight }: { width: number; isRight: boolean }): string {
  const shown = cut(text, width);
  const padding = " ".repeat(Math.max(0, width - getWidth(shown)));
  return isRight ? padding + shown : shown + padding;
}

/** At most `width` columns of a screen, never half a letter. */
function cut(text: string, width: number): string {
  if (getWidth(text) <= width) return text;
  const letters = new Intl.Segmenter("en", { granularity: "grapheme" });
  let shown = "";
  for (const { segment } of letters.segment(text)) {
    if (getWidth(shown) + getWidth(segment) > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}
