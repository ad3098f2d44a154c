// Text for a terminal. Names and reasons come from tenants and mail servers: nothing in them may move the cursor,
// change the direction of text or begin a new line.

/** Control characters, line and paragraph separators, and what changes the direction of text. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** `text` on one line, without control characters. */
export function plain(text: string): string {
  return text.replaceAll(/[\t\n\r]+/g, " ").replaceAll(UNSEEN, "\ufffd");
}

/** The same for several lines. */
export function plainLines(text: string): string {
  return text.split("\n").map(plain).join("\n");
}

/** A template whose values are made plain. */
export function say(strings: TemplateStringsArray, ...values: (string | number)[]): string {
  return strings.reduce((all, text, index) => all + plain(String(values[index - 1] ?? "")) + text);
}

/** JSON in one line, with the control characters escaped that JSON itself leaves as they are. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNSEEN, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** "2026-01-31 08:15:00 UTC", from ISO 8601. */
export function timeText(iso: string): string {
  return `${timeCell(iso)} UTC`;
}

/** The same for a column that says UTC in its title. */
export function timeCell(iso: string): string {
  return iso.slice(0, 19).replace("T", " ");
}

/** "1 email", "2 emails", "12,000 emails". */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** One line a row, the values aligned; values are printed as they are. */
export function labelledLines(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`.trimEnd()).join("\n");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** "512 B", "12.3 GiB". */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < UNITS.length - 1; unit += 1) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}
