// TOML text → table, and what can be said of a text or value that is wrong.

import { getErrorMessage } from "../platform/errors.ts";

export type Table = Record<string, unknown>;

/** One error in the file, in words: `key` is where, `found` and `expected` complete "found …; expected …". */
export interface ConfigError {
  key: string;
  found: string;
  expected: string;
}

const FILE_MAX_CHARACTERS = 262_144;
const FILE_MAX_LINES = 5000;
const SHOWN_MAX = 60;
const FAULT_MAX = 200;

/** TOML text → its table, or the one error that keeps it from being TOML. */
export function parseToml(text: string): { kind: "table"; table: Table } | { kind: "error"; error: ConfigError } {
  if (text.length > FILE_MAX_CHARACTERS) {
    const expected = `at most ${FILE_MAX_CHARACTERS} characters; is this the right file?`;
    return {
      kind: "error",
      error: { key: "the file", found: `${text.length} characters`, expected },
    };
  }
  const fault = tomlFault(text);
  if (fault === null) return { kind: "table", table: Bun.TOML.parse(text) as Table };
  const line = faultyLine(text, fault);
  const lines = text.split("\n").slice(0, line ?? 0);
  const shown = (lines.at(-1) ?? "").trim();
  const isSecret = line === null || holdsSecret(lines);
  return {
    kind: "error",
    error: {
      key: line === null ? "the file" : `line ${line}`,
      found: shown === "" || isSecret ? "a syntax error" : showText(shown),
      // What follows the colon is taken from the line.
      expected: `valid TOML (${isSecret ? fault.replace(/: .*/s, "") : fault})`,
    },
  };
}

/** Whether the last line is of a key that holds a password, or of a value that began at one. */
function holdsSecret(lines: string[]): boolean {
  const ofKey = lines.findLastIndex((line) => /^\s*["']?[A-Za-z0-9_-]+["']?\s*[=:]/.test(line));
  return lines.slice(Math.max(0, ofKey)).some((line) => /passw|socks5/i.test(line));
}

/** Any value of a TOML file as a person would name it: texts quoted, cut and without control characters. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return showText(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (isTable(value)) return "a table";
  // oxlint-disable-next-line typescript/no-base-to-string -- what is left are Temporal objects, which write themselves
  return value === undefined ? "nothing" : `a date or time (${showText(String(value))})`;
}

/** Dates and times come as Temporal objects, which are no tables. */
export function isTable(value: unknown): value is Table {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A text in quotes, cut at 60 characters, control characters written as \\u{…}. */
export function showText(text: string): string {
  const cut = [...text].slice(0, SHOWN_MAX).join("");
  const quoted = JSON.stringify(cut === text ? text : `${cut}…`);
  return escapeControls(quoted);
}

/** Why the text is not TOML, or null. The parser throws a RangeError at very deep nesting: that counts too. */
function tomlFault(text: string): string | null {
  try {
    Bun.TOML.parse(text);
    return null;
  } catch (error) {
    return escapeControls(
      getErrorMessage(error)
        .replace(/^TOML Parse error: /, "")
        .slice(0, FAULT_MAX),
    );
  }
}

/**
 * The number (from 1) of the line at which parsing fails. Bun's parser does not tell it, but it reads from
 * the front and stops at the first fault: every text that reaches the faulty line fails alike, and the
 * text that ends just before it does not. Searched from the end line by line, not by halves: a text cut
 * inside a list further up fails too, and may do so in the same words. Null beyond 5000 lines.
 */
function faultyLine(text: string, fault: string): number | null {
  const lines = text.split("\n");
  if (lines.length > FILE_MAX_LINES) return null;
  let count = lines.length;
  while (count > 1 && tomlFault(lines.slice(0, count - 1).join("\n")) === fault) count--;
  return count;
}

function escapeControls(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
