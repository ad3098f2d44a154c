// The texts of `pombo help`, `pombo workspace --help` and `pombo workspace list --help`, for 80 columns.

import type { Command } from "./definition.ts";
import { DEFAULT_WIDTH, wrap } from "./screen.ts";

const INDENT = "  ";

/** Every command: groups in one line each, the others with their options. */
export function overview(commands: readonly Command[]): string {
  const all = [...Map.groupBy(commands, ({ name }) => firstWord(name))];
  // `operator-key rotate` stands with the other operator commands.
  const isSingle = ([first, ...others]: Command[]) =>
    others.length === 0 && !(first?.name.includes(" ") === true && isOperatorCommand(first));
  const single = all.flatMap(([, members]) => (isSingle(members) ? members : []));
  const groups = all.filter(([, members]) => !isSingle(members));
  const names = [...single.map(({ name }) => name), ...groups.map(([name]) => name)];
  const width = Math.max(...names.map((name) => name.length)) + "pombo ".length;
  const line = (name: string, about: string) => fit(`${INDENT}${name.padEnd(width)}${INDENT}${about}`);
  return [
    "pombo: your own transactional email and SMS API",
    "",
    ...single.flatMap((command) => [
      ...line(`pombo ${command.name}`, command.about),
      ...optionsInShort(command, width + 2 * INDENT.length),
    ]),
    "",
    "For the operator, whether pombo runs or not:",
    "",
    ...groups.flatMap(([name, members]) => line(`pombo ${name}`, subcommands(members))),
    "",
    ...fit("pombo COMMAND --help describes each; pombo help exit-codes lists the exit codes."),
  ].join("\n");
}

const EXIT_CODES = [
  [0, "done; pombo status: there are no issues; pombo doctor: no problem was found"],
  [1, "refused or failed; pombo status: the instance runs and has issues; pombo doctor: a problem was found"],
  [2, "wrong usage, or not confirmed: nothing was done"],
  [3, "pombo status: no instance runs; pombo sms test: the SMSC accepted, and not all receipts came in time"],
  [4, "pombo sms test: refused, not answered or not delivered"],
  [78, "the database cannot be used until someone repairs it: a restart does not help"],
  [130, "pombo serve and dev: stopped by a second signal before everything was written"],
  [141, "the reader of the output closed it"],
] as const;

export function exitCodes(): string {
  const lines = EXIT_CODES.flatMap(([code, meaning]) => fit(`${INDENT}${String(code).padStart(3)}${INDENT}${meaning}`));
  return ["Exit codes of pombo's commands:", "", ...lines].join("\n");
}

/** The commands that begin with one word. */
export function groupHelp(members: readonly Command[]): string {
  return [
    ...members.flatMap((command) => [
      ...synopsis(INDENT, command),
      ...wrap(command.about, DEFAULT_WIDTH - 3 * INDENT.length).map((line) => INDENT.repeat(3) + line),
    ]),
    "",
    `${INDENT}Each also takes ${members.every(isOperatorCommand) ? "--config FILE, --data-dir DIR, --json and " : ""}--help.`,
  ].join("\n");
}

/** "Usage: pombo workspace block WORKSPACE [--hold]". */
export function usage(command: Command): string[] {
  return synopsis("Usage: ", command);
}

export function commandHelp(command: Command): string {
  const options = shownOptions(command).map((option) => [formatOption(option), option[1].about] as const);
  const width = Math.max(0, ...options.map(([name]) => name.length));
  return [
    ...usage(command),
    "",
    ...fit(command.about),
    ...(options.length > 0 ? [""] : []),
    ...options.flatMap(([name, about]) => fit(`${INDENT}${name.padEnd(width)}${INDENT}${about}`)),
  ].join("\n");
}

/** `--reason TEXT`. */
function formatOption([name, { value }]: ReturnType<typeof shownOptions>[number], space = " "): string {
  return `--${name}${value === undefined ? "" : space + value}`;
}

function shownOptions(command: Command) {
  return Object.entries(command.options).flatMap(([name, option]) =>
    "about" in option ? [[name, option] as const] : [],
  );
}

/** The options of every operator's command, left out of its synopsis. */
const EVERYWHERE = ["config", "data-dir", "json"];

/** `pombo workspace block WORKSPACE [--hold]`; further lines begin under the arguments. */
function synopsis(start: string, command: Command): string[] {
  const own = shownOptions(command).filter(([name]) => !isOperatorCommand(command) || !EVERYWHERE.includes(name));
  const head = `${start}pombo ${command.name} `;
  const rest = [...command.arguments, ...own.map((option) => `[${formatOption(option, TIED)}]`)].join(" ");
  return hang(head, wrap(rest, DEFAULT_WIDTH - head.length));
}

/** In lines; an option and its value stay together. */
function optionsInShort(command: Command, indent: number): string[] {
  const options = shownOptions(command).map((option) => formatOption(option, TIED));
  if (options.length === 0) return [];
  return hang(" ".repeat(indent), wrap(options.join(` ${TIED}`), DEFAULT_WIDTH - indent));
}

function hang(head: string, lines: readonly string[]): string[] {
  return lines.map((line, index) =>
    ((index === 0 ? head : " ".repeat(head.length)) + line.trimStart()).replaceAll(TIED, " ").trimEnd(),
  );
}

function fit(line: string): string[] {
  return wrap(line, DEFAULT_WIDTH);
}

function isOperatorCommand({ options }: Command): boolean {
  return EVERYWHERE.every((name) => name in options);
}

/** A space at which no line ends. */
const TIED = "\u00a0";

function firstWord(name: string): string {
  return name.split(" ")[0] ?? "";
}

/** What follows the first word of a group; in brackets where the first word is a command too. */
function subcommands(members: Command[]): string {
  const words = members.map(({ name }) => name.split(" ").slice(1).join(" "));
  const behind = words.filter((word) => word !== "").join(" | ");
  return words.includes("") ? `[${behind}]` : behind;
}
