// The file of an import: CSV with a header, lines of JSON, or an address a line. Its first line decides which.

import { CSV_HEADER } from "../../../modules/suppressions/csv.ts";
import { type CsvRecord, readCsv, UNCLOSED } from "../../../platform/csv.ts";
import { count } from "../../framework/text.ts";

/** Other services' exports use these names for the address column. */
const ADDRESS_NAMES = ["email", "e-mail", "email_address", "recipient"];

function toColumn(field: string): string | null {
  const name = field.trim().toLowerCase();
  if (ADDRESS_NAMES.includes(name)) return "address";
  return CSV_HEADER.find((column) => column.toLowerCase() === name) ?? null;
}

/** An item for the API to check, or why the line holds none. Lines count from 1. */
export type ImportLine = { line: number; item: Record<string, unknown> } | { line: number; fault: string };

/** The lines that are not blank, or what is wrong with the whole file. */
export type ImportFile = { kind: "lines"; lines: ImportLine[] } | { kind: "fault"; message: string };

export function readImport(bytes: Uint8Array): ImportFile {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return { kind: "fault", message: "The file is UTF-16. Save it as UTF-8." };
  // This drops a byte order mark.
  const text = new TextDecoder().decode(bytes);
  const file = /^\s*\{/.test(text) ? { kind: "lines" as const, lines: readJsonLines(text) } : readRecords(text);
  return file.kind === "fault" ? file : { kind: "lines", lines: file.lines.map(refuseOtherEncodings) };
}

/** Stands for bytes that are not UTF-8. */
const REPLACEMENT = "\ufffd";

function refuseOtherEncodings(line: ImportLine): ImportLine {
  if ("fault" in line) return line;
  const isFaulty = Object.values(line.item).some((value) => typeof value === "string" && value.includes(REPLACEMENT));
  return isFaulty ? { line: line.line, fault: "it holds bytes that are not UTF-8" } : line;
}

function readJsonLines(text: string): ImportLine[] {
  const lines: ImportLine[] = [];
  for (const [index, source] of text.split(/\r\n|\r|\n/).entries()) {
    if (source.trim() !== "") lines.push(readJson(source, index + 1));
  }
  return lines;
}

function readJson(source: string, line: number): ImportLine {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    return { line, fault: "it is not JSON" };
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject) return { line, fault: "it is not a JSON object" };
  const members = Object.entries(value as Record<string, unknown>);
  return { line, item: Object.fromEntries(members.map(([name, each]) => [toColumn(name) ?? name, each])) };
}

function readRecords(text: string): ImportFile {
  let columns: string[] | null = null;
  const lines: ImportLine[] = [];
  for (const record of readCsv(text)) {
    if ("fault" in record) {
      if (record.fault === UNCLOSED) return { kind: "fault", message: `line ${record.line}: ${record.fault}` };
      lines.push(record);
    } else if (columns === null) {
      const read = readHeader(record.fields);
      if (read.kind === "fault") return { kind: "fault", message: `line ${record.line}: ${read.message}` };
      columns = read.columns;
      if (!read.isHeader) lines.push(toItem(record, columns));
    } else lines.push(toItem(record, columns));
  }
  return { kind: "lines", lines };
}

type Header = { kind: "header"; columns: string[]; isHeader: boolean } | { kind: "fault"; message: string };

/** The first record names the columns, in any order; a single value that names none is an address. */
function readHeader(fields: string[]): Header {
  const columns = fields.map(toColumn);
  const known = columns.filter((name) => name !== null);
  if (!known.includes("address")) {
    const isBare = fields.length === 1 && !/^address[;\t]|[;\t]address$/i.test(fields[0] ?? "");
    if (isBare) return { kind: "header", columns: ["address"], isHeader: false };
    return {
      kind: "fault",
      message: `the first line must name the columns, separated by commas: ${CSV_HEADER.join(",")}, of which only address is required`,
    };
  }
  const unknown = fields.filter((_, index) => columns[index] === null);
  if (unknown.length > 0)
    return {
      kind: "fault",
      message: `there is no column ${JSON.stringify(unknown[0])}; there are ${CSV_HEADER.join(", ")}`,
    };
  if (new Set(known).size < known.length) return { kind: "fault", message: "a column is named twice" };
  return { kind: "header", columns: known, isHeader: true };
}

/** Empty columns are left out. */
function toItem(record: Extract<CsvRecord, { fields: string[] }>, columns: string[]): ImportLine {
  const { line, fields } = record;
  if (fields.length !== columns.length) {
    const expected = columns.length === 1 ? "an address" : columns.join(",");
    return { line, fault: `it has ${count(fields.length, "value")} where ${expected} is expected` };
  }
  const filled = columns.map((name, index) => [name, fields[index] ?? ""] as const).filter(([, value]) => value !== "");
  return { line, item: Object.fromEntries(filled) };
}
