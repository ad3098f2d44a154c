// A command: its definition, from which its arguments are parsed and its help is written, its terminal, its errors.

import { parseArgs } from "node:util";
import type { Colour } from "./screen.ts";
import { nearest } from "../../config/closest-match.ts";

/** 1: refused or failed, 2: wrong usage; help.ts lists the others. */
export type FailureCode = 1 | 2 | 3 | 4 | 130;

/** A command failed. Only the message is shown, so it says what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: FailureCode;

  constructor(message: string, exitCode: FailureCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command line is wrong; the command's help is added to the message. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The process around a command: arguments, environment, streams and signals. */
export interface Terminal {
  env: Record<string, string | undefined>;
  args: readonly string[];
  /** One line, or several, to standard output, as they are: for programs, and for text to be pasted. */
  out: (text: string) => void;
  /** Text for people to standard output: wrapped and coloured where that is a terminal. */
  say: (text: string) => void;
  /** Bytes to standard output, as they are. */
  write: (bytes: Uint8Array) => void;
  /** Text to standard error, its first paragraph in a colour where that is a terminal with colours. */
  err: (text: string, colour?: Colour) => void;
  /** Resolves when the output was read: a long list waits for its reader. */
  flushed: () => Promise<void>;
  /** Columns of the screen that standard output is; null: another program reads it. */
  width: number | null;
  /** Standard input and output are a terminal, so a person can be asked. */
  isInteractive: boolean;
  /** For a command that does not fail, and still ends with this code. */
  setExitCode: (exitCode: number) => void;
  /** Ends the process at once, with 1 and the reason on standard error. */
  fail: (reason: string) => void;
  input: () => AsyncIterable<Uint8Array>;
  /** Resolves with the signal that asks the process to end. */
  stopSignal: () => Promise<string>;
  /** From now on unhandled rejections go to `report` instead of standard error. */
  onUnhandledRejection: (report: (error: unknown) => void) => void;
  /** From now on the command goes on when its terminal is gone, as with a lost connection. */
  outliveSession: () => void;
}

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

/** Says why parseArgs() refused, in the words of the help, with the nearest option. */
function explainParseError(error: unknown, { options }: Command): string {
  const { code, message } = error as { code?: string; message: string };
  const [, written = "", name = ""] = /'((?:-\w, )?--?([^'\s=]*))/.exec(message) ?? [];
  switch (code) {
    case "ERR_PARSE_ARGS_UNKNOWN_OPTION": {
      const guess = nearest(name, Object.keys(options));
      return `There is no option ${written}.${guess === null ? "" : ` Did you mean --${guess}?`}`;
    }
    case "ERR_PARSE_ARGS_INVALID_OPTION_VALUE": {
      const value = options[name]?.value;
      return value === undefined ? `--${name} takes no value.` : `--${name} needs a value: --${name} ${value}.`;
    }
    default:
      return `${message.split(/\n|\. /)[0]?.replace(/\.$/, "")}.`;
  }
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
    throw new UsageError(explainParseError(error, command));
  }
  const values: Record<string, string | boolean | undefined> = {};
  for (const [name, value] of Object.entries(parsed.values)) {
    const option = command.options[name];
    if (value === "") throw new UsageError(`--${name} needs a value: --${name} ${option?.value}.`);
    if (option !== undefined && "refusal" in option) throw new CommandError(option.refusal, 2);
    values[name] = value;
  }
  return { values, positionals: parsed.positionals };
}
