import type { Command } from "./definition.ts";

// The words of `pombo help`, of `pombo workspace --help` and of `pombo workspace list --help`, from the table.

const INDENT = "  ";
const WIDTH = 96;

/** Every command: those alone with their first word with their options, the others by that word. */
export function overview(commands: readonly Command[]): string {
  const all = [...Map.groupBy(commands, ({ name }) => firstWord(name))];
  const isSingle = (members: Command[]) => members.length === 1;
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
    "For the operator, while pombo runs and while it does not:",
    "",
    ...groups.map(([name, members]) => line(name, wordsBehind(members))),
    "",
    "pombo COMMAND --help says more of each; pombo help exit-codes says what they end with.",
  ].join("\n");
}

const EXIT_CODES = [
  [0, "done; of pombo status: all is well"],
  [1, "refused or failed; of pombo status: it runs, and there are issues"],
  [2, "not understood, or not confirmed: nothing was done"],
  [3, "of pombo status: no instance runs; of pombo sms test: taken by the SMSC, and no receipt said more"],
  [4, "of pombo sms test: refused, not answered or not delivered"],
  [78, "the database cannot be used until a person changes it: starting again does not help"],
  [130, "of pombo serve and dev: ended by a second signal before all was in order"],
  [141, "whoever read the output had seen enough"],
] as const;

/** `pombo help exit-codes`. */
export function exitCodes(): string {
  const lines = EXIT_CODES.map(([code, meaning]) => `${INDENT}${String(code).padStart(3)}${INDENT}${meaning}`);
  return ["What pombo's commands end with:", "", ...lines].join("\n");
}

/** The commands that begin with one word. */
export function groupHelp(members: readonly Command[]): string {
  return [
    ...members.flatMap((command) => [
      INDENT + synopsis(command),
      ...wrap(command.about, WIDTH).map((line) => `${INDENT}${INDENT}${INDENT}${line}`),
    ]),
    "",
    `${INDENT}Each knows --config FILE, --data-dir DIR, --json and --help.`,
  ].join("\n");
}

/** One command with all its options. */
export function commandHelp(command: Command): string {
  const options = shownOptions(command).map(
    ([name, { value, about }]) => [`--${name}${value === undefined ? "" : ` ${value}`}`, about] as const,
  );
  const width = Math.max(0, ...options.map(([name]) => name.length));
  return [
    `Usage: ${synopsis(command)}`,
    "",
    ...wrap(command.about, WIDTH),
    ...(options.length > 0 ? [""] : []),
    ...options.map(([name, about]) => `${INDENT}${name.padEnd(width)}${INDENT}${about}`),
  ].join("\n");
}

/** Those that can be used. */
function shownOptions(command: Command) {
  return Object.entries(command.options).filter(([, { isRefused }]) => isRefused !== true);
}

/** `pombo workspace block WORKSPACE [options]`. */
function synopsis(command: Command): string {
  return ["pombo", command.name, ...command.arguments, ...(hasOwnOptions(command) ? [ownOptions(command)] : [])].join(
    " ",
  );
}

/** What every operator's command has need not be said each time. */
const EVERYWHERE = new Set(["config", "data-dir", "json"]);

function hasOwnOptions(command: Command): boolean {
  return Object.keys(command.options).some((name) => !EVERYWHERE.has(name));
}

function ownOptions(command: Command): string {
  return shownOptions(command)
    .filter(([name]) => !EVERYWHERE.has(name))
    .map(([name, { value }]) => `[--${name}${value === undefined ? "" : ` ${value}`}]`)
    .join(" ");
}

/** In lines; none is parted from its value. */
function optionsInShort(command: Command): string[] {
  const options = shownOptions(command).map(
    ([name, { value }]) => `--${name}${value === undefined ? "" : `${TIED}${value}`}`,
  );
  return options.length === 0
    ? []
    : wrap(options.join(` ${TIED}`), WIDTH).map((line) => line.replaceAll(TIED, " ").trim());
}

/** A space at which no line ends. */
const TIED = "\u00a0";

function firstWord(name: string): string {
  return name.split(" ")[0] ?? "";
}

/** What stands behind the first word of a group; in brackets where that alone is a command too. */
function wordsBehind(members: Command[]): string {
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
