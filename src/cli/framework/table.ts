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

/** What a table is fitted to: columns of the screen, and the present, Unix ms. */
export interface Frame {
  width: number;
  now: number;
}

const DAY_MS = 86_400_000;
/** A text is not cut to less. */
const MIN_TEXT = 16;
/** The milliseconds of a UUIDv7, and for messages 12 random bits more: an email and its event are of one millisecond. */
const ID_LENGTHS = { id: 13, message: 18 };
const WHOLE_ID = 36;
const GAP = "  ";
const INDENT = "  ";
/** An absent value. */
const NONE = "-";

/** The lines of a list. Null: another program reads it. */
export function tableLines<Row>(rows: readonly Row[], columns: readonly Column<Row>[], frame: Frame | null): string[] {
  if (frame === null) return rows.map((row) => columns.map((column) => plainCell(column.of(row))).join("\t"));
  const { width, now } = frame;
  const roomy = columns.map((column) => build(column, rows, timeCell));
  if (total(roomy) <= width) return render({ inRow: roomy, beneath: [] }, width);
  const narrow = columns.map((column) => build(column, rows, (iso) => shortTime(iso, now)));
  return render(fit(narrow, width), width);
}

/** A column, as it is shown. */
interface Shown {
  title: string;
  kind: Column<unknown>["kind"];
  cells: string[];
  width: number;
  isRight: boolean;
}

function build<Row>(column: Column<Row>, rows: readonly Row[], showTime: (iso: string) => string): Shown {
  const { kind } = column;
  const values = rows.map((row) => column.of(row));
  const idLength = kind === "id" || kind === "message" ? findIdLength(values, ID_LENGTHS[kind]) : WHOLE_ID;
  const cells = values.map((value) => {
    if (typeof value !== "string" || value === "") return plainCell(value);
    if (kind === "time") return showTime(value);
    return idLength < WHOLE_ID ? plain(value.slice(0, idLength)) : plain(value);
  });
  const title = kind === "time" && showTime === timeCell ? `${column.title} (UTC)` : column.title;
  const width = cells.reduce((most, cell) => Math.max(most, getWidth(cell)), getWidth(title));
  return { title, kind, cells, width, isRight: values.some((value) => typeof value === "number") };
}

/** How much of each id tells it from the others. */
function findIdLength(values: readonly (string | number | null)[], least: number): number {
  const ids = new Set(values.filter((value) => typeof value === "string"));
  let length = least;
  while (length < WHOLE_ID && new Set([...ids].map((id) => id.slice(0, length))).size < ids.size) length += 1;
  return length;
}

interface Layout {
  inRow: Shown[];
  beneath: Shown[];
}

/** Prose goes beneath the rows, then texts are cut; what still does not fit goes beneath too, from the right. */
function fit(columns: readonly Shown[], width: number): Layout {
  const inRow = columns.filter(({ kind }) => kind !== "prose");
  const beneath = columns.filter(({ kind }) => kind === "prose");
  if (total(columns) <= width) return { inRow: [...columns], beneath: [] };
  const least = (column: Shown) => (isCut(column) ? { ...column, width: Math.min(column.width, MIN_TEXT) } : column);
  while (inRow.length > 1 && total(inRow.map(least)) > width) beneath.unshift(...inRow.splice(-1));
  for (let tooMuch = total(inRow) - width; tooMuch > 0; tooMuch -= 1) {
    const widest = inRow.filter(isCut).toSorted((a, b) => b.width - a.width)[0];
    if (widest === undefined || widest.width <= MIN_TEXT) break;
    widest.width -= 1;
  }
  return { inRow, beneath };
}

function isCut({ kind, isRight }: Shown): boolean {
  return kind === undefined && !isRight;
}

function total(columns: readonly Shown[]): number {
  return columns.reduce((sum, { width }) => sum + width, GAP.length * (columns.length - 1));
}

function render({ inRow, beneath }: Layout, width: number): string[] {
  const line = (show: (column: Shown) => string) =>
    inRow
      .map((column) => pad(show(column), column))
      .join(GAP)
      .trimEnd();
  const rows = inRow[0]?.cells.keys() ?? [];
  return [
    line(({ title }) => title),
    ...[...rows].flatMap((index) => [
      line((column) => {
        const cell = cut(column.cells[index] ?? NONE, column.width);
        return column.kind === "status" ? paintStatus(cell) : cell;
      }),
      ...lineBeneath(beneath, index).flatMap((each) => wrap(each, width)),
    ]),
  ];
}

function lineBeneath(beneath: readonly Shown[], index: number): string[] {
  const given = beneath.filter(({ cells }) => cells[index] !== NONE);
  return given.length === 0 ? [] : [INDENT + given.map(({ title, cells }) => `${title} ${cells[index]}`).join(GAP)];
}

function plainCell(value: string | number | null): string {
  if (value === null || value === "") return NONE;
  return plain(String(value));
}

/** "08:15:00Z" within a day of now, else "2026-01-31". */
function shortTime(iso: string, now: number): string {
  return Math.abs(Date.parse(iso) - now) < DAY_MS ? `${iso.slice(11, 19)}Z` : iso.slice(0, 10);
}

function pad(text: string, { width, isRight }: Shown): string {
  const padding = " ".repeat(Math.max(0, width - getWidth(text)));
  return isRight ? padding + text : text + padding;
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
