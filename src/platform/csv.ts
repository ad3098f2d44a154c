// RFC 4180: comma-separated values, read and written. Read is more than the RFC has: a line may end with LF or
// CR alone, spaces around a value that is not quoted do not count, and lines without a character are left out.

/** A record, or why the line is none. `line`: the number of its first line, from 1. */
export type CsvRecord = { line: number; fields: string[] } | { line: number; fault: string };

/** A quote that is not closed swallows what follows: nothing behind it can be believed. */
export const UNCLOSED = "a quotation mark is opened and never closed";

/** Reads the records one by one; after a fault the next line is read. */
export function* readCsv(text: string): Generator<CsvRecord> {
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const record = readRecord(text, at);
    if ("fault" in record) yield { line, fault: record.fault };
    else if (record.fields.length > 1 || record.fields[0] !== "") yield { line, fields: record.fields };
    line += countLines(text, at, record.end);
    at = record.end;
  }
}

interface Read {
  fields: string[];
  /** Behind its line's end. */
  end: number;
}

function readRecord(text: string, start: number): Read | { fault: string; end: number } {
  const fields: string[] = [];
  let at = start;
  for (;;) {
    const field = readField(text, at);
    if ("fault" in field) {
      return { fault: field.fault, end: field.fault === UNCLOSED ? text.length : afterLine(text, field.end) };
    }
    fields.push(unguarded(field.value));
    if (text[field.end] !== ",") return { fields, end: afterLine(text, field.end) };
    at = field.end + 1;
  }
}

/** `end` is where the comma, the line's end or the text's end stands. */
type Field = { value: string; end: number } | { fault: string; end: number };

const BARE = /[^,\r\n]*/y;
const OPENS_QUOTE = /[ \t]*"/y;
const SPACES = /[ \t]*/y;

function readField(text: string, start: number): Field {
  OPENS_QUOTE.lastIndex = start;
  if (!OPENS_QUOTE.test(text)) {
    BARE.lastIndex = start;
    const value = BARE.exec(text)?.[0] ?? "";
    const end = start + value.length;
    return value.includes('"')
      ? {
          fault:
            'a quotation mark stands in a value that is not quoted: write "…" around it, and "" for each one in it',
          end,
        }
      : { value: value.trim(), end };
  }
  const opening = OPENS_QUOTE.lastIndex;
  const closing = closingQuote(text, opening);
  if (closing < 0) return { fault: UNCLOSED, end: text.length };
  SPACES.lastIndex = closing + 1;
  SPACES.test(text);
  const end = SPACES.lastIndex;
  const next = text[end];
  if (next !== undefined && next !== "," && next !== "\r" && next !== "\n")
    return { fault: "something stands between a closing quotation mark and the comma", end };
  return { value: text.slice(opening, closing).replaceAll('""', '"'), end };
}

/** The quotation mark that ends the value which begins at `from`; two of them are one in it. */
function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}

/** Where the next line begins. */
function afterLine(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== "\n" && text[at] !== "\r") at += 1;
  return at + (text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1);
}

const LINE_END = /\r\n|\r|\n/g;

function countLines(text: string, from: number, to: number): number {
  return text.slice(from, to).match(LINE_END)?.length ?? 0;
}

/**
 * Marks a formula that a spreadsheet would compute. Numbers, such as phone numbers, stay: they do nothing. A value that has its
 * apostrophes already gets one more, so that reading takes away what writing has added and nothing else.
 */
const FORMULA = /^'*(?![+-]\d+$)[=+\-@\t\r]/;

/** The value that stands in a file: before what would be a formula is an apostrophe, as spreadsheets have it. */
function unguarded(value: string): string {
  return value.startsWith("'") && FORMULA.test(value) ? value.slice(1) : value;
}

const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

/** A record without its line's end, which RFC 4180 has as CRLF. */
export function csvLine(fields: readonly string[]): string {
  const guarded = fields.map((field) => (FORMULA.test(field) ? `'${field}` : field));
  return guarded.map((field) => (NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",");
}
