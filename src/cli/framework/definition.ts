import { parseArgs } from "node:util";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./failure.ts";

// What a command is: an entry in the table of cli/command-table.ts. From it come the reading of its arguments and the
// words of its help.

export interface Option {
  /** What stands behind it, as "FILE"; absent: it is a switch. */
  value?: string;
  /** For the help; begins in lower case. */
  about: string;
  /** It is understood for the sake of the error message, and stands in no help. */
  isRefused?: true;
}

export interface Command {
  /** "serve", "workspace list". */
  name: string;
  /** What stands behind the name, in order; in brackets what may be left out, the last one with dots any number: "WORKSPACE", "[NAME]", "[ID...]". */
  arguments: readonly string[];
  options: Readonly<Record<string, Option>>;
  /** A sentence or two. */
  about: string;
  run(given: Given, terminal: Terminal): Promise<void> | void;
}

/** What a command line says to its command. */
export interface Given {
  /** An argument that must be there. */
  argument(name: string): string;
  /** One that may be left out. */
  optional(name: string): string | undefined;
  /** Those of an argument of which there may be any number. */
  several(name: string): string[];
  /** An option's value. */
  text(option: string): string | undefined;
  isSet(option: string): boolean;
}

/** Reads what stands behind a command's name. Throws UsageError. */
export function readArguments(command: Command, args: string[]): Given {
  const { values, positionals } = parse(command, args);
  const isOpen = command.arguments.at(-1)?.endsWith("...]") === true;
  const [tooMany] = positionals.slice(isOpen ? positionals.length : command.arguments.length);
  if (tooMany !== undefined) throw new UsageError(`${JSON.stringify(tooMany)} is one argument too many.`);
  const missing = command.arguments.slice(positionals.length).filter((name) => !name.startsWith("["));
  if (missing.length > 0)
    throw new UsageError(`${missing.join(" and ")} ${missing.length > 1 ? "are" : "is"} missing.`);
  const given = new Map(command.arguments.map((name, index) => [name.replace(/^\[(.*)\]$/, "$1"), positionals[index]]));
  for (const [name, value] of given) if (value === "") throw new UsageError(`${name} must not be empty.`);
  return {
    argument(name) {
      const value = given.get(name);
      if (value === undefined) throw new Error(`pombo ${command.name} has no argument ${name}`);
      return value;
    },
    optional: (name) => given.get(name),
    several(name) {
      const all = positionals.slice(command.arguments.indexOf(`[${name}...]`));
      if (all.includes("")) throw new UsageError(`${name} must not be empty.`);
      return all;
    },
    text(option) {
      const value = values[option];
      return typeof value === "string" ? value : undefined;
    },
    isSet: (option) => values[option] === true,
  };
}

/** Marks a negative number, which parseArgs would take for options. */
const MARK = "\0";

function parse(command: Command, args: string[]) {
  const described = Object.fromEntries(
    Object.entries(command.options).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  const marked = args.map((each) => (/^-\d/.test(each) ? MARK + each : each));
  const unmark = (value: string) => value.replace(MARK, "");
  let parsed;
  try {
    parsed = parseArgs({ args: marked, options: described, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error);
    throw new UsageError(`${reason.split("\n")[0]?.replace(/\.$/, "")}.`);
  }
  const values: Record<string, string | boolean | undefined> = {};
  for (const [name, value] of Object.entries(parsed.values)) {
    if (value === "") throw new UsageError(`--${name} needs a value.`);
    values[name] = typeof value === "string" ? unmark(value) : value;
  }
  return { values, positionals: parsed.positionals.map(unmark) };
}
