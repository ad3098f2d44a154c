// Addresses that somebody pastes or chooses as a file: one a line, or CSV with a header. The server checks each of them.

import type { SuppressionsImport } from "../../../../../modules/suppressions/operator-schema.ts";

export type ImportItem = SuppressionsImport["suppressions"][number];

export type ImportLine = { line: number; item: ImportItem } | { line: number; fault: "values" | "quote" };

const COLUMNS = ["address", "channel", "reason", "suppressedAt", "list"];
/** Other services' exports use these names for the address. */
const ADDRESS_NAMES = ["email", "e-mail", "email_address", "recipient"];
/** A spreadsheet saves with semicolons where the comma is in decimals. */
const SEPARATORS = [",", ";", "\t"];

/** Null: the first line is a header without an address. */
export function readSuppressions(text: string): ImportLine[] | null {
  const [first = ""] = text.split(/\r\n|\r|\n/, 1);
  const separator = SEPARATORS.find((each) => first.includes(each)) ?? ",";
  const records = readRecords(text.replace(/^\ufeff/, ""), separator);
  const [head] = records;
  if (head === undefined) return [];
  const named = head.values?.map(toColumn) ?? [];
  const hasHeader = named.includes("address");
  if (!hasHeader && named.length > 1) return null;
  const columns = hasHeader ? named : ["address"];
  return records.slice(hasHeader ? 1 : 0).map(({ line, values }) => {
    if (values === null) return { line, fault: "quote" };
    return values.length === columns.length ? { line, item: toItem(columns, values) } : { line, fault: "values" };
  });
}

function toColumn(value: string): string | null {
  const name = value.toLowerCase();
  if (ADDRESS_NAMES.includes(name)) return "address";
  return COLUMNS.find((column) => column.toLowerCase() === name) ?? null;
}

/** Columns of other names are left out, and so is what is empty. */
function toItem(columns: (string | null)[], values: string[]): ImportItem {
  const filled = values
    .map((value, at) => [columns[at], value])
    .filter(([name, value]) => name !== null && value !== "");
  const item = { address: "", ...(Object.fromEntries(filled) as Partial<ImportItem>) };
  return item.channel === undefined && item.address.startsWith("+") && !item.address.includes("@")
    ? { ...item, channel: "sms" }
    : item;
}

interface TextRecord {
  /** The number of its first line, from 1. */
  line: number;
  /** Null: a quotation mark is not closed. */
  values: string[] | null;
}

/** RFC 4180; lines without a character are left out. */
function readRecords(text: string, separator: string): TextRecord[] {
  const records: TextRecord[] = [];
  const token = new RegExp(`"((?:[^"]|"")*)"[ \\t]*|[^${separator}\\r\\n]*`, "y");
  let [at, line] = [0, 1];
  while (at < text.length) {
    const values: string[] = [];
    const start = line;
    let isWhole = true;
    for (;;) {
      token.lastIndex = at;
      const [all = "", quoted] = token.exec(text) ?? [];
      isWhole &&= quoted !== undefined || !all.trimStart().startsWith('"');
      values.push(unguard(quoted === undefined ? all.trim() : quoted.replaceAll('""', '"')));
      line += all.split(/\r\n|\r|\n/).length - 1;
      at += all.length;
      if (text[at] !== separator) break;
      at += 1;
    }
    const rest = /[^\r\n]*(?:\r\n|\r|\n)?/y;
    rest.lastIndex = at;
    const [end = ""] = rest.exec(text) ?? [];
    isWhole &&= end.trim() === "";
    at += end.length;
    line += 1;
    if (values.length > 1 || values[0] !== "") records.push({ line: start, values: isWhole ? values : null });
  }
  return records;
}

/** Takes away the apostrophe that an export writes before what a spreadsheet would compute. */
function unguard(value: string): string {
  return /^'+[=+\-@\t\r]/.test(value) ? value.slice(1) : value;
}
