// The texts of `pombo help`, `pombo workspace --help` and `pombo workspace list --help`.

import type { Command } from "./definition.ts";

const INDENT = "  ";
const WIDTH = 96;

/** Every command: groups in one line each, the others with their options. */
export function overview(commands: readonly Command[]): string {
  const all = [...Map.groupBy(commands, ({ name }) => firstWord(name))];
  // `operator-key rotate` stands with the other operator commands.
  const isSingle = ([first, ...others]: Command[]) =>
    others.length === 0 && !(first?.name.includes(" ") === true && "data-dir" in first.options);
  const single = all.flatMap(([, members]) => (isSingle(members) ? members : []));
  const groups = all.filter(([, members]) => !isSingle(members));
  const names = [...single.map(({ name }) => name), ...groups.map(([name]) => name)];
  const width = Math.max(...names.map((name) => name.length)) + "pombo ".length;
  const line = (name: string, about: string) => `${INDENT}${`pombo ${name}`.padEnd(width)}${INDENT}${about}`;
  const beneath = " ".repeat(width + 2 * INDENT.length);
  return [
    "pombo: your own transactional email and SMS API",
    "",
    ...single.flatMap((command) => [
      ...wrap(command.about, WIDTH).map((text, index) => (index === 0 ? line(command.name, text) : beneath + text)),
      ...optionsInShort(command).map((text) => beneath + text),
    ]),
    "",
    "For the operator, whether pombo runs or not:",
    "",
    ...groups.map(([name, members]) => line(name, subcommands(members))),
    "",
    "pombo COMMAND --help describes each; pombo help exit-codes lists the exit codes.",
  ].join("\n");
}

const EXIT_CODES = [
  [0, "done; pombo status: there are no issues"],
  [1, "refused or failed; pombo status: the instance runs and has issues"],
  [2, "wrong usage, or not confirmed: nothing was done"],
  [3, "pombo status: no instance runs; pombo sms test: the SMSC accepted, and not all receipts came in time"],
  [4, "pombo sms test: refused, not answered or not delivered"],
  [78, "the database cannot be used until someone repairs it: a restart does not help"],
  [130, "pombo serve and dev: stopped by a second signal before everything was written"],
  [141, "the reader of the output closed it"],
] as const;

export function exitCodes(): string {
  const lines = EXIT_CODES.map(([code, meaning]) => `${INDENT}${String(code).padStart(3)}${INDENT}${meaning}`);
  return ["Exit codes of pombo's commands:", "", ...lines].join("\n");
}

/** The commands that begin with one word. */
export function groupHelp(members: readonly Command[]): string {
  return [
    ...members.flatMap((command) => [
      INDENT + synopsis(command),
      ...wrap(command.about, WIDTH).map((line) => `${INDENT}${INDENT}${INDENT}${line}`),
    ]),
    "",
    `${INDENT}Each also takes --config FILE, --data-dir DIR, --json and --help.`,
  ].join("\n");
}

export function commandHelp(command: Command): string {
  const options = shownOptions(command).map((option) => [formatOption(option), option[1].about] as const);
  const width = Math.max(0, ...options.map(([name]) => name.length));
  return [
    `Usage: ${synopsis(command)}`,
    "",
    ...wrap(command.about, WIDTH),
    ...(options.length > 0 ? [""] : []),
    ...options.map(([name, about]) => `${INDENT}${name.padEnd(width)}${INDENT}${about}`),
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

/** The options of every operator's command, left out of a synopsis. */
const EVERYWHERE = new Set(["config", "data-dir", "json"]);

/** `pombo workspace block WORKSPACE [--hold]`. */
function synopsis(command: Command): string {
  const own = shownOptions(command).filter(([name]) => !EVERYWHERE.has(name));
  return ["pombo", command.name, ...command.arguments, ...own.map((option) => `[${formatOption(option)}]`)].join(" ");
}

/** In lines; an option and its value stay together. */
function optionsInShort(command: Command): string[] {
  const options = shownOptions(command).map((option) => formatOption(option, TIED));
  return options.length === 0
    ? []
    : wrap(options.join(` ${TIED}`), WIDTH).map((line) => line.replaceAll(TIED, " ").trim());
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

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
