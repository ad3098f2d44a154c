import { parseArgs } from "node:util";
import type { Terminal } from "./terminal.ts";
import { CommandError, UsageError } from "./failure.ts";

// The definition of a command, from which its arguments are parsed and its help is written.

export type Option = ShownOption | RefusedOption;

interface ShownOption {
  /** The name of its value, as "FILE"; absent: it is a switch. */
  value?: string;
  /** For the help; begins in lower case. */
  about: string;
}

/** Recognized only for a better error message; the help does not list it. */
interface RefusedOption {
  value?: string;
  refusal: string;
}

export interface Command {
  /** "serve", "workspace list". */
  name: string;
  /** In order: "WORKSPACE"; "[NAME]" may be left out; "[ID...]", only as the last, stands for any number. */
  arguments: readonly string[];
  options: Readonly<Record<string, Option>>;
  /** A sentence or two. */
  about: string;
  run(args: Arguments, terminal: Terminal): Promise<void> | void;
}

export interface Arguments {
  /** A required argument. */
  argument(name: string): string;
  /** An argument that may be left out. */
  optional(name: string): string | undefined;
  /** An argument that may be repeated. */
  several(name: string): string[];
  text(option: string): string | undefined;
  isSet(option: string): boolean;
}

/** Parses what follows a command's name. Throws UsageError. */
export function parseArguments(command: Command, args: string[]): Arguments {
  const { values, positionals } = parse(command, args);
  const isOpen = command.arguments.at(-1)?.endsWith("...]") === true;
  const [tooMany] = positionals.slice(isOpen ? positionals.length : command.arguments.length);
  if (tooMany !== undefined) throw new UsageError(`${JSON.stringify(tooMany)} is one argument too many.`);
  const missing = command.arguments.slice(positionals.length).filter((name) => !name.startsWith("["));
  if (missing.length > 0)
    throw new UsageError(`${missing.join(" and ")} ${missing.length > 1 ? "are" : "is"} missing.`);
  const named = new Map(command.arguments.map((name, index) => [name.replace(/^\[(.*)\]$/, "$1"), positionals[index]]));
  for (const [name, value] of named) if (value === "") throw new UsageError(`${name} must not be empty.`);
  return {
    argument(name) {
      const value = named.get(name);
      if (value === undefined) throw new Error(`pombo ${command.name} has no argument ${name}`);
      return value;
    },
    optional: (name) => named.get(name),
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

function parse(command: Command, args: string[]) {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  let parsed;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(". ")[0] ?? "") : String(error);
    throw new UsageError(`${reason.split("\n")[0]?.replace(/\.$/, "")}.`);
  }
  const values: Record<string, string | boolean | undefined> = {};
  for (const [name, value] of Object.entries(parsed.values)) {
    if (value === "") throw new UsageError(`--${name} needs a value.`);
    const option = command.options[name];
    if (option !== undefined && "refusal" in option) throw new CommandError(option.refusal, 2);
    values[name] = value;
  }
  return { values, positionals: parsed.positionals };
}
