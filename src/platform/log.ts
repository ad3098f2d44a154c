/** Values of an event, for people and programs. */
export type LogFields = Record<string, string | number | boolean | null>;

/** `warn`: the operator may have to do something about it. */
export type LogLevel = "info" | "warn";

export interface Log {
  /** One line for one event; `level` defaults to `info`. */
  event(name: string, fields?: LogFields, level?: LogLevel): void;
  /** An internal error, with its stack. `fields`: what it happened to. */
  error(where: string, error: unknown, fields?: LogFields): void;
}

const MAX_FIELD = 1_000;
/** The part of a longer value that is redacted before it is cut, so that no half of an address stays. */
const MAX_LOOKED_AT = 4 * MAX_FIELD;

export interface JsonLogOptions {
  write: (line: string) => void;
  /** Unix ms. */
  now: () => number;
  /** Whether email addresses may stand in a line in full. */
  addresses: "redacted" | "full";
}

/**
 * One JSON line an event. Callers redact what must not be seen; here it is done once more, since errors contain words
 * from anywhere: no line holds an API key, nor an address unless addresses may be seen.
 */
export function jsonLog({ write, now, addresses }: JsonLogOptions): Log {
  const hide = addresses === "full" ? hideKeys : redact;
  const writeLine = (level: LogLevel | "error", name: string, fields: LogFields) => {
    const line: LogFields = { time: new Date(now()).toISOString(), level, event: name };
    for (const [key, value] of Object.entries(fields)) {
      line[key] = typeof value === "string" ? cut(hide(value.slice(0, MAX_LOOKED_AT))) : value;
    }
    write(JSON.stringify(line).replaceAll(BREAKS_LINES, toEscape));
  };
  return {
    event: (name, fields = {}, level = "info") => writeLine(level, name, fields),
    error: (where, error, fields = {}) =>
      writeLine("error", "internal_error", { where, ...fields, error: errorText(error) }),
  };
}

/** JSON leaves these as they are, and some readers and terminals take them for the end of a line or for a command. */
const BREAKS_LINES = /[\u007f-\u009f\u2028\u2029]/g;

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Never half a surrogate pair, which some readers of JSON refuse. */
function cut(value: string): string {
  return value.slice(0, MAX_FIELD).toWellFormed();
}

/** An address as it stands among words; the quoted form may hold spaces. Bounded, so that a long line without an @ costs little. */
const ADDRESS = /(?:"[^"]{1,64}"|[^\s<>"(),;:]{1,128})@[^\s<>"'(),;:]+/g;
/** API keys and the operator key. */
const KEY = /svc_[A-Za-z0-9_-]{8,}/g;
/** A shorter local part is as likely a word. */
const MIN_LOCAL_PART = 3;

/**
 * `words` with every address as `m***@example.com`: enough to recognise a destination, not a person.
 * Servers also repeat the part before the @ of the `recipient` by itself. API keys go too.
 */
export function redact(words: string, recipient?: string): string {
  const hidden = words.includes("@") ? hideKeys(words).replaceAll(ADDRESS, redactAddress) : hideKeys(words);
  const local = recipient?.slice(0, recipient.lastIndexOf("@")) ?? "";
  if (local.length < MIN_LOCAL_PART || !hidden.toLowerCase().includes(local.toLowerCase())) return hidden;
  const alone = new RegExp(`(?<![\\w.@-])${RegExp.escape(local)}(?![\\w@-]|\\.\\w)`, "gi");
  return hidden.replaceAll(alone, (found) => `${found.slice(0, 1)}***`);
}

function redactAddress(address: string): string {
  const shown = address.startsWith('"') ? '"***"' : `${address.slice(0, 1)}***`;
  return `${shown}${address.slice(address.lastIndexOf("@"))}`;
}

/** `words` without API keys: for what only repeats them. */
export function hideKeys(words: string): string {
  return words.includes("svc_") ? words.replaceAll(KEY, "svc_***") : words;
}

/** Errors may have causes, to any depth or in a circle; five are enough. */
const MAX_CAUSES = 5;

/** The stack of an error and of its causes; never throws, whatever was thrown. */
export function errorText(error: unknown, causes = MAX_CAUSES): string {
  if (!(error instanceof Error)) return typeof error === "string" ? error : Bun.inspect(error);
  const cause = error.cause === undefined || causes === 0 ? "" : ` (cause: ${errorText(error.cause, causes - 1)})`;
  return `${error.stack ?? error.message}${cause}`;
}
