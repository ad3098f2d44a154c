/**
 * A page of text that is written line by line: white space folds, blocks stand apart, rows of short
 * cells become one line, lists and quotes have their marks. Every call costs what it adds. Pure.
 */

const WIDTH = 78;
const GAP = "  ";
/** A cell of at most so many characters stays in the line of its row, however long that is: a price behind a description. */
const SHORT_CELL = 24;
/** Lists and quotes in one another beyond this are not indented further: each indents every line in it. */
const MAX_INDENTS = 8;
const RULE = "-".repeat(40);
const INVISIBLE = /^[\s\u00a0\u200b-\u200f]*$/;

interface Line {
  text: string;
  /** Line ends before it: 2 leaves an empty line. */
  before: number;
  quotes: number;
  /** Of what stands left of it: spaces, or on the first line of an item its mark. */
  indent: string;
  mark: string;
  isPreformatted: boolean;
}

interface Table {
  /** Lines there were when the open row and the open cell began; -1: none is open. */
  rowAt: number;
  cellAt: number;
  /** Whether the row is one line so far, and whether its last cell is. */
  isOneLine: boolean;
  isLastLine: boolean;
  cells: number;
  /** Whether the row before had several cells in one line: such rows stand close. */
  isData: boolean;
}

export class TextPage {
  readonly #limit: number;
  readonly #lines: Line[] = [];
  /** Of the line that is written, with its white space folded. */
  #words = "";
  #hasSpace = false;
  #before = 0;
  /** Written, as far as it counts for the limit. */
  #size = 0;
  readonly #tables: Table[] = [newTable()];
  /** The next item number of each open list; null has none. */
  readonly #lists: (number | null)[] = [];
  #mark = "";
  #quotes = 0;
  #link: { href: string; line: number; column: number } | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#size > this.#limit;
  }

  write(text: string): void {
    const folded = text.replaceAll(/[ \t\r\n\f]+/g, " ");
    const words = folded.startsWith(" ") ? folded.slice(1) : folded;
    if (words.length < folded.length) this.#hasSpace = true;
    if (words === "") return;
    const isSpaced = words.endsWith(" ");
    this.#add(isSpaced ? words.slice(0, -1) : words);
    this.#hasSpace = isSpaced;
  }

  /** Text that stands apart from what is beside it. */
  word(text: string): void {
    if (text === "") return;
    this.write(` ${text} `);
  }

  preformatted(text: string): void {
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      if (this.isFull) return;
      if (index > 0 && !this.#end(true)) this.#before = Math.min(2, this.#before + 1);
      this.#words += line;
      this.#size += line.length + 1;
    }
  }

  #add(words: string): void {
    this.#words += this.#hasSpace && this.#words !== "" ? ` ${words}` : words;
    this.#hasSpace = false;
    this.#size += words.length + 1;
  }

  /** Begins a new line, `distance` line ends below. */
  block(distance: 1 | 2): void {
    this.#end();
    this.#before = Math.max(this.#before, distance);
  }

  lineBreak(): void {
    const hasEnded = this.#end();
    this.#before = hasEnded ? 1 : Math.min(2, this.#before + 1);
    this.#size++;
  }

  rule(): void {
    this.#words = RULE;
    this.#size += RULE.length;
    this.block(2);
  }

  /** Puts the line that is written below the others; false: there was nothing in it. */
  #end(isPreformatted = false): boolean {
    const text = isPreformatted ? this.#words.trimEnd() : this.#words.trim();
    this.#words = "";
    this.#hasSpace = false;
    if (INVISIBLE.test(text)) return false;
    const depth = Math.min(this.#lists.length, MAX_INDENTS);
    const mark = this.#mark;
    this.#mark = "";
    const left = depth === 0 ? mark.length : 3 * (depth - 1) + Math.max(mark.length, 3);
    this.#lines.push({
      text,
      before: this.#lines.length === 0 ? 0 : Math.max(this.#before, 1),
      quotes: this.#quotes,
      indent: " ".repeat(left),
      mark: mark.padStart(left),
      isPreformatted,
    });
    this.#before = 1;
    return true;
  }

  openList(first: number | null): void {
    if (this.#lists.length > 0) this.#before = Math.min(this.#before, 1);
    this.#lists.push(first);
  }

  closeList(): void {
    this.#end();
    this.#lists.pop();
    this.#mark = "";
    this.#before = this.#lists.length > 0 ? 1 : 2;
  }

  item(): void {
    const number = this.#lists.at(-1) ?? null;
    this.#mark = number === null ? " * " : ` ${number}. `;
    if (number !== null) this.#lists[this.#lists.length - 1] = number + 1;
  }

  openQuote(): void {
    this.#quotes = Math.min(this.#quotes + 1, MAX_INDENTS);
  }

  closeQuote(): void {
    this.#end();
    this.#quotes = Math.max(this.#quotes - 1, 0);
  }

  openLink(href: string): void {
    this.#endLink(true);
    if (href !== "") this.#link = { href, line: this.#lines.length, column: this.#words.length };
  }

  /** Its address behind its text, unless that is the address. */
  closeLink(): void {
    this.#endLink(false);
  }

  /** `isTakenOver`: another link stands in this one, which may have no text but that of the other. */
  #endLink(isTakenOver: boolean): void {
    const link = this.#link;
    this.#link = null;
    if (link === null) return;
    const above = this.#lines.slice(link.line).map(({ text }) => text);
    const own = this.#words.slice(above.length === 0 ? link.column : 0);
    const text = bare([...above, own].join(" "));
    if (text === bare(link.href) || (text === "" && isTakenOver)) return;
    const last = this.#lines.at(-1);
    this.#size += link.href.length;
    // A button is a table within a link: its line has ended.
    if (this.#words === "" && above.length > 0 && last !== undefined) last.text += ` [${link.href}]`;
    else this.write(` [${link.href}]`);
  }

  #table(): Table {
    return this.#tables.at(-1) ?? newTable();
  }

  openTable(): void {
    this.#tables.push(newTable());
  }

  closeTable(): void {
    this.closeRow();
    if (this.#tables.length > 1) this.#tables.pop();
  }

  openRow(): void {
    this.closeRow();
    const table = this.#table();
    table.rowAt = this.#lines.length;
    table.isOneLine = true;
    table.cells = 0;
  }

  closeRow(): void {
    this.closeCell();
    const table = this.#table();
    const first = this.#lines[table.rowAt];
    table.rowAt = -1;
    if (first === undefined) return;
    const isData = table.isOneLine && table.cells > 1;
    first.before = first === this.#lines[0] ? 0 : isData && table.isData ? 1 : 2;
    table.isData = isData;
  }

  openCell(): void {
    this.closeCell();
    const table = this.#table();
    if (table.rowAt < 0) this.openRow();
    table.cellAt = this.#lines.length;
  }

  closeCell(): void {
    const table = this.#table();
    this.block(1);
    if (table.cellAt < 0) return;
    const cell = this.#lines[table.cellAt];
    const isLine = this.#lines.length === table.cellAt + 1;
    table.cellAt = -1;
    if (cell === undefined) return;
    table.cells++;
    const row = this.#lines[table.rowAt];
    if (row === undefined || row === cell) table.isOneLine = isLine;
    else if (table.isOneLine && isLine && isFitting(row, cell)) {
      this.#lines.pop();
      row.text += `${GAP}${cell.text}`;
    } else {
      cell.before = table.isLastLine && isLine ? 1 : 2;
      table.isOneLine = false;
    }
    table.isLastLine = isLine;
  }

  text(): string {
    this.#end();
    let written = "";
    let quotesAbove = 0;
    for (const line of this.#lines) {
      if (line.before > 0) written += "\n";
      if (line.before > 1) written += `${"> ".repeat(Math.min(line.quotes, quotesAbove)).trimEnd()}\n`;
      written += wrapped(line);
      quotesAbove = line.quotes;
    }
    return written;
  }
}

function newTable(): Table {
  return { rowAt: -1, cellAt: -1, isOneLine: true, isLastLine: true, cells: 0, isData: false };
}

function isFitting(row: Line, cell: Line): boolean {
  if (row.isPreformatted || cell.isPreformatted || row.mark !== "" || cell.mark !== "") return false;
  return cell.text.length <= SHORT_CELL || row.text.length + GAP.length + cell.text.length <= WIDTH;
}

/** For comparing a link's text with its address. */
function bare(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/^(?:https?:\/\/(?:www\.)?|www\.|tel:)/, "")
    .replace(/\/$/, "");
}

/** A line as lines of at most WIDTH characters; words are not cut. */
function wrapped({ text, quotes, indent, mark, isPreformatted }: Line): string {
  const quote = "> ".repeat(quotes);
  const first = quote + mark;
  if (isPreformatted || first.length + text.length <= WIDTH) return first + text;
  const rest = `\n${quote}${indent}`;
  const room = WIDTH - quote.length - indent.length;
  let written = first;
  let from = 0;
  while (text.length - from > room) {
    // The last space within the room, else the first beyond it.
    let end = text.lastIndexOf(" ", from + room);
    if (end <= from) end = text.indexOf(" ", from + room);
    if (end < 0) break;
    written += text.slice(from, end).trimEnd() + rest;
    from = end + 1;
    while (text.charCodeAt(from) === 0x20) from++;
  }
  return written + text.slice(from);
}
