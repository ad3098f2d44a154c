// Lists as tables: fitted to the screen for people, tab-separated and in full for programs.

import { getWidth, paintStatus, wrap } from "./screen.ts";
import { plain, timeCell } from "./text.ts";

export interface Column<Row> {
  title: string;
  of(row: Row): string | number | null;
  /**
   * A time is ISO 8601 in UTC. A screen shows the beginning of an id; `message`: of an email, SMS or event, which are many.
   * A status has a colour. Prose goes beneath its row where it does not fit. Other text is cut.
   */
  kind?: "time" | "id" | "message" | "status" | "prose";
}

/** For a table on a screen. */
export interface TableOptions {
  /** Columns of the screen. */
  width: number;
  /** Unix ms; a time near it is shown without its day. */
  now: number;
}

const DAY_MS = 86_400_000;
/** Text is not cut to less. */
const MIN_TEXT = 16;
/** The milliseconds of a UUIDv7, and for messages 12 random bits more: an email and its event are of one millisecond. */
const ID_LENGTHS = { id: 13, message: 18 };
const WHOLE_ID = 36;
const GAP = "  ";
const INDENT = "  ";
/** An absent value. */
const NONE = "-";

/** The lines of a list. Null: another program reads it. */
export function tableLines<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: TableOptions | null,
): string[] {
  if (options === null) return rows.map((row) => columns.map((column) => formatCell(column.of(row))).join("\t"));
  const { width, now } = options;
  const roomy = columns.map((column) => renderColumn(column, rows, timeCell));
  if (getTotalWidth(roomy) <= width) return renderLines({ inRow: roomy, beneath: [] }, width);
  const narrow = columns.map((column) => renderColumn(column, rows, (iso) => formatShortTime(iso, now)));
  return renderLines(fitColumns(narrow, width), width);
}

/** A column with its cells as text. */
interface RenderedColumn {
  title: string;
  kind: Column<unknown>["kind"];
  cells: string[];
  width: number;
  isRight: boolean;
}

function renderColumn<Row>(
  column: Column<Row>,
  rows: readonly Row[],
  showTime: (iso: string) => string,
): RenderedColumn {
  const { kind } = column;
  const values = rows.map((row) => column.of(row));
  const idLength = kind === "id" || kind === "message" ? findIdLength(values, ID_LENGTHS[kind]) : WHOLE_ID;
  const cells = values.map((value) => {
    if (typeof value !== "string" || value === "") return formatCell(value);
    if (kind === "time") return showTime(value);
    return idLength < WHOLE_ID ? plain(value.slice(0, idLength)) : plain(value);
  });
  const title = kind === "time" && showTime === timeCell ? `${column.title} (UTC)` : column.title;
  const width = cells.reduce((most, cell) => Math.max(most, getWidth(cell)), getWidth(title));
  return { title, kind, cells, width, isRight: values.some((value) => typeof value === "number") };
}

/** The length at which all ids differ. */
function findIdLength(values: readonly (string | number | null)[], least: number): number {
  const ids = new Set(values.filter((value) => typeof value === "string"));
  let length = least;
  while (length < WHOLE_ID && new Set([...ids].map((id) => id.slice(0, length))).size < ids.size) length += 1;
  return length;
}

interface Layout {
  inRow: RenderedColumn[];
  beneath: RenderedColumn[];
}

/** Prose goes beneath the rows, then text is cut; what still does not fit goes beneath too, from the right. */
function fitColumns(columns: readonly RenderedColumn[], width: number): Layout {
  const inRow = columns.filter(({ kind }) => kind !== "prose");
  const beneath = columns.filter(({ kind }) => kind === "prose");
  if (getTotalWidth(columns) <= width) return { inRow: [...columns], beneath: [] };
  const least = (column: RenderedColumn) =>
    isTruncatable(column) ? { ...column, width: Math.min(column.width, MIN_TEXT) } : column;
  while (inRow.length > 1 && getTotalWidth(inRow.map(least)) > width) beneath.unshift(...inRow.splice(-1));
  for (let tooMuch = getTotalWidth(inRow) - width; tooMuch > 0; tooMuch -= 1) {
    const widest = inRow.filter(isTruncatable).toSorted((a, b) => b.width - a.width)[0];
    if (widest === undefined || widest.width <= MIN_TEXT) break;
    widest.width -= 1;
  }
  return { inRow, beneath };
}

function isTruncatable({ kind, isRight }: RenderedColumn): boolean {
  return kind === undefined && !isRight;
}

function getTotalWidth(columns: readonly RenderedColumn[]): number {
  return columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1));
}

function renderLines({ inRow, beneath }: Layout, width: number): string[] {
  const line = (show: (column: RenderedColumn) => string) =>
    inRow
      .map((column) => pad(show(column), column))
      .join(GAP)
      .trimEnd();
  const rows = inRow[0]?.cells.keys() ?? [];
  return [
    line(({ title }) => title),
    ...[...rows].flatMap((index) => [
      line((column) => {
        const cell = truncate(column.cells[index] ?? NONE, column.width);
        return column.kind === "status" ? paintStatus(cell) : cell;
      }),
      ...renderBeneath(beneath, index).flatMap((each) => wrap(each, width)),
    ]),
  ];
}

function renderBeneath(beneath: readonly RenderedColumn[], index: number): string[] {
  const given = beneath.filter(({ cells }) => cells[index] !== NONE);
  return given.length === 0 ? [] : [INDENT + given.map(({ title, cells }) => `${title} ${cells[index]}`).join(GAP)];
}

function formatCell(value: string | number | null): string {
  if (value === null || value === "") return NONE;
  return plain(String(value));
}

/** "08:15:00Z" within a day of now, else "2026-01-31". */
function formatShortTime(iso: string, now: number): string {
  return Math.abs(Date.parse(iso) - now) < DAY_MS ? `${iso.slice(11, 19)}Z` : iso.slice(0, 10);
}

function pad(text: string, { width, isRight }: RenderedColumn): string {
  const padding = " ".repeat(Math.max(0, width - getWidth(text)));
  return isRight ? padding + text : text + padding;
}

/** At most `width` columns of a screen, never half a character. */
function truncate(text: string, width: number): string {
  if (getWidth(text) <= width) return text;
  const characters = new Intl.Segmenter("en", { granularity: "grapheme" });
  let shown = "";
  for (const { segment } of characters.segment(text)) {
    if (getWidth(shown) + getWidth(segment) > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}
