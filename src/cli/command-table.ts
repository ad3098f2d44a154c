import { ALERT_COMMANDS } from "./commands/alert.ts";
import { backup } from "./commands/backup.ts";
import { CREDITS_COMMANDS } from "./commands/credits.ts";
import {
  type Arguments,
  type Command,
  CommandError,
  parseArguments,
  type Terminal,
  UsageError,
} from "./framework/definition.ts";
import { DOMAIN_COMMANDS } from "./commands/domain/domain.ts";
import { doctor } from "./commands/doctor.ts";
import { forget } from "./commands/forget.ts";
import { health } from "./commands/health.ts";
import { commandHelp, exitCodes, groupHelp, overview, usage } from "./framework/help.ts";
import { INBOX_COMMANDS } from "./commands/inbox.ts";
import { PEOPLE_COMMANDS } from "./commands/people.ts";
import { MONITORING_COMMANDS } from "./commands/monitoring.ts";
import { QUEUE_COMMANDS } from "./commands/queue/queue.ts";
import { STANDBY_COMMANDS } from "./commands/standby/standby.ts";
import { status } from "./commands/status.ts";
import { init } from "./commands/setup/init.ts";
import { KEY_COMMANDS } from "./commands/key.ts";
import { operatorCommand } from "./client/operator-command.ts";
import { restore } from "./commands/setup/restore.ts";
import { SENDER_COMMANDS } from "./commands/sender.ts";
import { SMS_COMMANDS } from "./commands/sms/sms.ts";
import { serve } from "./commands/serve.ts";
import { SUPPRESSION_COMMANDS } from "./commands/suppression/suppression.ts";
import { TLS_COMMANDS } from "./commands/tls.ts";
import { trace } from "./commands/trace.ts";
import { update } from "./commands/update/update.ts";
import { versionRecord, versionText } from "./commands/version.ts";
import { listenToEvents, readListenKey } from "./commands/webhook/listen.ts";
import { nearest } from "../config/closest-match.ts";
import { jsonLine, plain } from "./framework/text.ts";
import { WORKSPACE_COMMANDS } from "./commands/workspace.ts";

const HELP = ["help", "--help", "-h"];
const DEFAULT_API = "http://127.0.0.1:8080";
const JSON_OPTION = { about: "print one line of JSON, for programs" };

export const COMMANDS: readonly Command[] = [
  {
    name: "dev",
    arguments: [],
    options: {
      port: { value: "N", about: "the API's port (8080)" },
      data: { value: "DIR", about: "keep the data there between runs" },
      prefixes: { value: "LIST", about: "the numbers that can be texted, as +3519,+55119 (Mozambique's)" },
      json: JSON_OPTION,
    },
    about: "Try pombo: a sandbox with its own DNS, mail server and SMSC. Nothing leaves this machine.",
    async run(args, terminal) {
      // Imported here, so that an instance does not load the sandbox.
      const { dev } = await import("./commands/dev/dev.ts");
      await dev(args, terminal);
    },
  },
  {
    name: "webhook listen",
    arguments: [],
    options: {
      forward: { value: "URL", about: "post each event there, as a webhook call" },
      api: { value: "URL", about: `the API (${DEFAULT_API})` },
      "key-file": { value: "FILE", about: "a file with a workspace's API key; or set the variable POMBO_KEY" },
      key: {
        value: "KEY",
        refusal:
          "--key is refused: other users of this machine can read the command line, and the shell keeps it. Put the key into the variable POMBO_KEY, or into a file (chmod 600) that --key-file names.",
      },
      json: { about: "print each event as a line of JSON" },
    },
    about: "Show a workspace's events on a developer's machine, and forward them to a local program.",
    run: (args, terminal) =>
      listenToEvents(
        {
          api: readApiUrl(args),
          key: readListenKey(args.text("key-file"), terminal.env),
          forward: readWebUrl(args, "forward"),
          json: args.isSet("json"),
        },
        terminal,
      ),
  },
  init,
  serve,
  restore,
  backup,
  health,
  update,
  ...STANDBY_COMMANDS,
  ...MONITORING_COMMANDS,
  {
    name: "version",
    arguments: [],
    options: { json: JSON_OPTION },
    about: "Show the version.",
    run: (args, terminal) =>
      args.isSet("json") ? terminal.out(jsonLine(versionRecord())) : terminal.say(versionText()),
  },
  ...[
    WORKSPACE_COMMANDS,
    KEY_COMMANDS,
    PEOPLE_COMMANDS,
    CREDITS_COMMANDS,
    SENDER_COMMANDS,
    SUPPRESSION_COMMANDS,
    DOMAIN_COMMANDS,
    INBOX_COMMANDS,
    forget,
    status,
    ALERT_COMMANDS,
    doctor,
    TLS_COMMANDS,
    QUEUE_COMMANDS,
    trace,
    SMS_COMMANDS,
  ]
    .flat()
    .map(operatorCommand),
];

/** Runs the command that `args` name. Throws StartError or CommandError for a person to act on. */
export async function runCommand(args: string[], terminal: Terminal): Promise<void> {
  const words = args[0] === "--version" ? ["version"] : args;
  const [first = "help", ...rest] = words;
  if (HELP.includes(first)) return terminal.say(helpOn(rest));
  if (asksForHelp(words)) return terminal.say(helpOn(words));
  const command = findCommand(words);
  if (command === null) throw unknownCommand(words);
  const tail = words.slice(command.name.split(" ").length);
  // `pombo queue lst`: the group's own command takes no argument, so a command of the group was meant.
  if (isOfGroup(command) && tail[0] !== undefined && /^[^-]/.test(tail[0])) throw unknownCommand(words);
  try {
    await command.run(parseArguments(command, tail), terminal);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // Without the options: the reason should stay on the screen.
    const more = `pombo ${command.name} --help describes it.`;
    throw new CommandError([`pombo ${command.name}: ${error.message}`, "", ...usage(command), "", more].join("\n"), 2);
  }
}

/** The longest name wins: `inbox show` is not `inbox`. */
function findCommand(words: string[]): Command | null {
  const found = COMMANDS.filter(({ name }) => name.split(" ").every((word, index) => words[index] === word));
  return found.find(({ name }) => name.includes(" ")) ?? found[0] ?? null;
}

function findGroup(words: string[]): Command[] {
  return COMMANDS.filter(({ name }) => name.split(" ")[0] === words[0]);
}

function asksForHelp(words: string[]): boolean {
  const end = words.indexOf("--");
  return words.slice(0, end < 0 ? undefined : end).some((word) => word === "--help" || word === "-h");
}

/** A command that is also the first word of others. */
function isOfGroup({ name }: Command): boolean {
  return !name.includes(" ") && findGroup([name]).length > 1;
}

function helpOn(words: string[]): string {
  const [first] = words;
  if (first === undefined || HELP.includes(first)) return overview(COMMANDS);
  if (first === "exit-codes") return exitCodes();
  const command = findCommand(words);
  if (command !== null && !isOfGroup(command)) return commandHelp(command);
  const group = findGroup(words);
  if (group.length > 0) return groupHelp(group);
  throw unknownCommand(words);
}

/** Commands that were renamed before the first release. */
const FORMER_COMMANDS: Record<string, string> = {
  "key operator": "pombo operator-key rotate",
  "credits add": "pombo credits grant (or pombo credits deduct, to take some away)",
};

/** Without the long help: the reason should stay on the screen. */
function unknownCommand([first = "", second]: string[]): CommandError {
  const renamed = FORMER_COMMANDS[`${first} ${second ?? ""}`];
  if (renamed !== undefined) return new CommandError(`pombo ${first} ${second} is now called ${renamed}.`, 2);
  const group = findGroup([first]);
  if (group.length === 0) {
    const names = [...new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? ""))];
    const guess = suggest(first, names) || suggestOrder(first);
    return new CommandError(`pombo has no command ${plain(first)}.${guess} pombo --help lists them all.`, 2);
  }
  const known = group.flatMap(({ name }) => name.split(" ")[1] ?? []);
  const fault = second === undefined ? "needs a subcommand" : `has no command ${plain(second)}`;
  const guess = second === undefined ? "" : suggest(second, known);
  return new CommandError(
    `pombo ${first} ${fault}.${guess} It has: ${known.join(", ")}. pombo ${first} --help describes them.`,
    2,
  );
}

function suggest(word: string, known: readonly string[]): string {
  const guess = nearest(word, known);
  return guess === null ? "" : ` Did you mean ${guess}?`;
}

/** `pombo create workspace`: the words the other way round. */
function suggestOrder(first: string): string {
  const found = COMMANDS.filter(({ name }) => name.split(" ")[1] === first).map(({ name }) => `pombo ${name}`);
  return found.length === 0 ? "" : ` Did you mean ${new Intl.ListFormat("en", { type: "disjunction" }).format(found)}?`;
}

/** Base of the API, which paths are added to. Throws UsageError. */
function readApiUrl(args: Arguments): string {
  const given = readWebUrl(args, "api") ?? DEFAULT_API;
  if (/[?#]/.test(given))
    throw new UsageError(`--api must be an address without ? and #, such as ${DEFAULT_API}, not ${plain(given)}.`);
  return given.replace(/\/+$/, "");
}

/** An option that names an http or https address. Throws UsageError. */
function readWebUrl(args: Arguments, name: string): string | undefined {
  const given = args.text(name);
  if (given === undefined || (/^https?:\/\//i.test(given) && URL.canParse(given))) return given;
  throw new UsageError(`--${name} must be an address such as http://127.0.0.1:3000/hook, not ${plain(given)}.`);
}
