/** A fact of one moment: its name, and values for people and programs. */
export type LogFields = Record<string, string | number | boolean | null>;

export interface Log {
  /** One line for one event, told by whoever decided it. */
  event(name: string, fields?: LogFields): void;
  /** Something that must not happen; with the stack, once. */
  bug(where: string, error: unknown): void;
}

const MAX_FIELD = 1_000;

/** One JSON line an event. */
export function jsonLog(write: (line: string) => void, now: () => number): Log {
  const tell = (level: string, name: string, fields: LogFields) => {
    const short = Object.entries(fields).map(([key, value]) => [key, typeof value === "string" ? cut(value) : value]);
    write(JSON.stringify({ time: new Date(now()).toISOString(), level, event: name, ...Object.fromEntries(short) }));
  };
  return {
    event: (name, fields = {}) => tell("info", name, fields),
    bug: (where, error) => tell("error", "bug", { where, error: errorText(error) }),
  };
}

/** Never half a surrogate pair, which some readers of JSON refuse. */
function cut(value: string): string {
  return value.slice(0, MAX_FIELD).toWellFormed();
}

/** Errors may have causes, to any depth or in a circle; more tell nothing new. */
const MAX_CAUSES = 5;

/** The stack of an error and of its causes; never throws, whatever was thrown. */
export function errorText(error: unknown, causes = MAX_CAUSES): string {
  if (!(error instanceof Error)) return typeof error === "string" ? error : Bun.inspect(error);
  const cause = error.cause === undefined || causes === 0 ? "" : ` (cause: ${errorText(error.cause, causes - 1)})`;
  return `${error.stack ?? error.message}${cause}`;
}
