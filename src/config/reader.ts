// Reads the table of the configuration file along the schema in config.ts. Errors are collected, not thrown, so that
// the operator can correct all of them at once.

import { describeValue, isTable, showText, type ConfigError, type Table } from "./toml.ts";
import type { Setting } from "./fields.ts";
import { parseDuration, parseSize, TEXT_FORMATS, type TextFormat } from "./formats.ts";
import { nearest } from "./closest-match.ts";

interface Reading {
  root: Setting;
  errors: ConfigError[];
}

const NAMED_TABLES_MAX = 50;
const UNITS: Record<string, { suffix: string; parse(text: string): number | null; expected: string }> = {
  duration: {
    suffix: "Ms",
    parse: parseDuration,
    expected: 'a duration such as "90s" or "72h" (units: ms, s, m, h, d)',
  },
  size: {
    suffix: "Bytes",
    parse: parseSize,
    expected: 'a size such as "512KiB" or "16MiB" (units: B, KiB, MiB, GiB)',
  },
};

/** The values under the names of the code; undefined after an error, or if the default is derived. */
export function readTable(root: Setting, table: Table, errors: ConfigError[]): Table {
  return readObject(root, table, { at: [], reading: { root, errors } });
}

/** The key in the file of a name in the code: lifetimeMs → lifetime, maxBodyBytes → max_body. */
export function fileKey(name: string, setting: Setting): string {
  const suffix = UNITS[setting.format ?? setting.items?.format ?? ""]?.suffix ?? "";
  const bare = suffix !== "" && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  return bare.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The end of "expected …". */
function describeExpected(setting: Setting): string {
  const remark = setting.note === undefined ? "" : ` (${setting.note})`;
  if (setting.enum !== undefined) return setting.enum.map((option) => `"${option}"`).join(" or ") + remark;
  const format = setting.format ?? "";
  const unit = UNITS[format];
  if (unit !== undefined) return `${unit.expected}, from "${setting.atLeast}" to "${setting.atMost}"${remark}`;
  if (setting.type === "integer") return `a whole number from ${setting.minimum} to ${setting.maximum}${remark}`;
  if (setting.type === "boolean") return `true or false${remark}`;
  if (setting.type === "array")
    return `a list of ${setting.minItems ?? 0} to ${setting.maxItems} values, each ${describeExpected(setting.items ?? {})}${remark}`;
  if (setting.type === "object") return "a table";
  return (textFormat(format)?.expected ?? "a text") + remark;
}

interface Place {
  at: string[];
  reading: Reading;
}

function readObject(setting: Setting, value: unknown, place: Place): Table {
  const result: Table = {};
  if (!isTable(value)) {
    note(place, describeValue(value), "a table");
    return result;
  }
  const known = new Set<string>();
  for (const [name, child] of Object.entries(setting.properties ?? {})) {
    const key = fileKey(name, child);
    known.add(key);
    const inside = { ...place, at: [...place.at, key] };
    if (Object.hasOwn(value, key)) result[name] = readValue(child, value[key], inside);
    else if (child.default !== undefined) result[name] = readValue(child, child.default, inside);
    else if (child.type === "object") result[name] = readObject(child, {}, inside);
    else if (child.derivedFrom === undefined) note(inside, "nothing", describeExpected(child));
  }
  for (const key of Object.keys(value)) {
    if (!known.has(key)) noteUnknown(value[key], [...known], { ...place, at: [...place.at, key] });
  }
  return result;
}

function readValue(setting: Setting, value: unknown, place: Place): unknown {
  if (setting.patternProperties !== undefined) return readNamedTables(setting, value, place);
  if (setting.type === "object") return readObject(setting, value, place);
  if (setting.type === "array") return readList(setting, value, place);
  const read = readLeaf(setting, value);
  if (read === undefined) {
    note(
      place,
      setting.isSecret === true ? "a value that is not shown" : describeValue(value),
      describeExpected(setting),
    );
  }
  return read;
}

/** A table of the file changes only its own keys in the default of that name; a new name has no defaults. */
function readNamedTables(setting: Setting, value: unknown, place: Place): Table | undefined {
  const [pattern, shape] = Object.entries(setting.patternProperties ?? {})[0] ?? ["", {}];
  if (!isTable(value)) {
    note(place, describeValue(value), "a table");
    return undefined;
  }
  // Without a prototype, so that plans["constructor"] is undefined.
  const result = Object.create(null) as Table;
  const defaults = setting.default as Record<string, Table>;
  const names = [...new Set([...Object.keys(defaults), ...Object.keys(value)])];
  if (names.length > NAMED_TABLES_MAX) note(place, `${names.length} tables`, `at most ${NAMED_TABLES_MAX}`);
  for (const name of names.slice(0, NAMED_TABLES_MAX)) {
    const inside = { ...place, at: [...place.at, name] };
    const own = Object.hasOwn(value, name) ? value[name] : {};
    if (!new RegExp(pattern).test(name)) {
      note(inside, "this name", "a name of 1 to 40 lower-case letters, digits, - and _, starting with a letter");
    } else {
      const initial = Object.hasOwn(defaults, name) ? defaults[name] : {};
      result[name] = readObject(shape, isTable(own) ? { ...initial, ...own } : own, inside);
    }
  }
  return result;
}

function readList(setting: Setting, value: unknown, place: Place): unknown[] | undefined {
  const count = Array.isArray(value) ? value.length : -1;
  if (!Array.isArray(value) || count < (setting.minItems ?? 0) || count > (setting.maxItems ?? 0)) {
    note(place, describeValue(value), describeExpected(setting));
    return undefined;
  }
  return value.map((item, index) => readValue(setting.items ?? {}, item, withIndex(place, index)));
}

function withIndex(place: Place, index: number): Place {
  const last = place.at.at(-1) ?? "";
  return { ...place, at: [...place.at.slice(0, -1), `${last}[${index}]`] };
}

/** The value for the code; undefined if it is not valid. */
function readLeaf(setting: Setting, value: unknown): unknown {
  if (setting.type === "boolean") return typeof value === "boolean" ? value : undefined;
  if (setting.type === "integer") return isWithin(value, setting.minimum, setting.maximum) ? value : undefined;
  if (typeof value !== "string") return undefined;
  if (setting.enum !== undefined) return setting.enum.includes(value) ? value : undefined;
  const unit = UNITS[setting.format ?? ""];
  if (unit === undefined) return textFormat(setting.format ?? "")?.read(value);
  const amount = unit.parse(value);
  const least = unit.parse(setting.atLeast ?? "") ?? 0;
  const most = unit.parse(setting.atMost ?? "") ?? 0;
  return isWithin(amount, least, most) ? amount : undefined;
}

function isWithin(value: unknown, minimum = 0, maximum = 0): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= minimum && value <= maximum;
}

function textFormat(format: string): TextFormat | undefined {
  return (TEXT_FORMATS as Record<string, TextFormat>)[format];
}

function note(place: Place, found: string, expected: string): void {
  place.reading.errors.push({ key: keyPath(place.at), found, expected });
}

/** Keys of versions before 0.1, by table; "*" is any table. */
const FORMER_KEYS: Record<string, string> = {
  "email.retry": "retry_schedule",
  "email.keep_content": "content_retention",
  "email.provider": "transport",
  "idempotency.keep": "retention",
  "webhooks.keep": "retention",
  "*.allow_addresses": "allow_private_ranges",
  "http.max_other_body": "max_body_default",
  "rate_limits.failed_keys_per_minute": "failed_auth_per_minute",
  "sms.unknown_wait": "lost_response_wait",
  "routes.unknown": "on_lost_response",
  "routes.overdue": "missing_receipt_status",
  "routes.ids": "message_id_format",
  "routes.dcs0_charset": "default_charset",
};

function findCurrentKey(at: string[]): string | null {
  const key = at.at(-1) ?? "";
  const table = (at.at(-2) ?? "").replace(/\[\d+\]$/, "");
  return FORMER_KEYS[`${table}.${key}`] ?? FORMER_KEYS[`*.${key}`] ?? null;
}

function noteUnknown(value: unknown, known: string[], place: Place): void {
  const key = place.at.at(-1) ?? "";
  const current = findCurrentKey(place.at);
  if (current !== null && known.includes(current)) {
    note(place, "a former name", `${current}, the new name of this key`);
    return;
  }
  const similar = nearest(key, known);
  const elsewhere = leafPaths(place.reading.root, []).find((path) => path.at(-1) === key);
  const suggestion =
    similar !== null
      ? keyPath([...place.at.slice(0, -1), similar])
      : elsewhere !== undefined
        ? keyPath(elsewhere)
        : null;
  const expected = suggestion === null ? `one of: ${known.join(", ")}` : `a known key (did you mean ${suggestion}?)`;
  note(place, isTable(value) ? "an unknown table" : "an unknown key", expected);
}

function leafPaths(setting: Setting, at: string[]): string[][] {
  return Object.entries(setting.properties ?? {}).flatMap(([name, child]) => {
    const path = [...at, fileKey(name, child)];
    return child.properties === undefined ? [path] : leafPaths(child, path);
  });
}

/** Keys in TOML spelling: quoted unless bare, so that a dot inside a key cannot be misread. */
function keyPath(at: string[]): string {
  return at.map((part) => (/^[A-Za-z0-9_-]+(\[\d+\])?$/.test(part) ? part : showText(part))).join(".");
}
