import { CREDITS_COMMANDS } from "./commands/credits.ts";
import { type Command, type Given, readArguments } from "./framework/definition.ts";
import { DOMAIN_COMMANDS } from "./commands/domain.ts";
import { CommandError, UsageError } from "./framework/failure.ts";
import { health } from "./commands/health.ts";
import { commandHelp, exitCodes, groupHelp, overview } from "./framework/help.ts";
import { INBOX_COMMANDS } from "./commands/inbox.ts";
import { QUEUE_COMMANDS } from "./commands/queue/queue.ts";
import { status } from "./commands/status.ts";
import { init } from "./commands/setup/init.ts";
import { KEY_COMMANDS } from "./commands/key.ts";
import { operatorCommand } from "./client/operator-command.ts";
import { restore } from "./commands/setup/restore.ts";
import { SENDER_COMMANDS } from "./commands/sender.ts";
import { SMS_COMMANDS } from "./commands/sms/sms.ts";
import { serve } from "./commands/serve.ts";
import { SUPPRESSION_COMMANDS } from "./commands/suppression/suppression.ts";
import type { Terminal } from "./framework/terminal.ts";
import { trace } from "./commands/trace.ts";
import { update } from "./commands/update/update.ts";
import { versionRecord, versionText } from "./commands/version.ts";
import { listenKey, listenToEvents } from "./commands/webhook/listen.ts";
import { nearest } from "../config/closest-match.ts";
import { jsonLine, plain } from "./framework/text.ts";
import { WORKSPACE_COMMANDS } from "./commands/workspace.ts";

const HELP = ["help", "--help", "-h"];
const DEFAULT_API = "http://127.0.0.1:8080";
const JSON_OPTION = { about: "one line of JSON for programs" };

/** Every command. */
const COMMANDS: readonly Command[] = [
  {
    name: "dev",
    arguments: [],
    options: {
      port: { value: "N", about: "the API's port (8080)" },
      data: { value: "DIR", about: "keep everything there between runs" },
      json: JSON_OPTION,
    },
    about: "Try it out: a sandbox with its own DNS and mail server. Nothing leaves this machine.",
    async run(given, terminal) {
      // What only the sandbox needs is not to be set up at each start of an instance.
      const { dev } = await import("./commands/dev/dev.ts");
      await dev({ port: portOf(given), data: given.text("data"), json: given.isSet("json") }, terminal);
    },
  },
  {
    name: "webhook listen",
    arguments: [],
    options: {
      forward: { value: "URL", about: "post each event there, as a webhook is called" },
      api: { value: "URL", about: `the API (${DEFAULT_API})` },
      "key-file": { value: "FILE", about: "a workspace's API key, in a file; or in the variable POMBO_KEY" },
      key: { value: "KEY", about: "", isRefused: true },
      json: { about: "a line of JSON an event, for programs" },
    },
    about: "Shows a workspace's events on a developer's machine, and forwards them.",
    run: (given, terminal) =>
      listenToEvents(
        {
          api: (given.text("api") ?? DEFAULT_API).replace(/\/+$/, ""),
          key: listenKey({ onLine: given.text("key"), file: given.text("key-file"), env: terminal.env }),
          forward: given.text("forward"),
          json: given.isSet("json"),
        },
        terminal,
      ),
  },
  {
    name: "init",
    arguments: [],
    options: {
      hostname: { value: "NAME", about: "the name of this server, as in its address's reverse DNS" },
      "data-dir": { value: "DIR", about: "where everything is kept (/var/lib/pombo)" },
      listen: { value: "ADDRESS", about: "where the API listens (127.0.0.1:8080); in a container 0.0.0.0:8080" },
      config: { value: "FILE", about: "the configuration to write (pombo.toml)" },
      json: JSON_OPTION,
    },
    about: "Set up an instance: writes its configuration and shows its keys once.",
    run: (given, terminal) =>
      init(
        {
          config: given.text("config"),
          dataDir: given.text("data-dir"),
          hostname: given.text("hostname"),
          listen: given.text("listen"),
          json: given.isSet("json"),
        },
        terminal,
      ),
  },
  {
    name: "serve",
    arguments: [],
    options: {
      config: { value: "FILE", about: "the configuration (pombo.toml, then /etc/pombo/config.toml; or POMBO_CONFIG)" },
      probe: { about: "only see whether it could: migrate, unseal, write; nothing listens and nothing is sent" },
      "start-empty": { about: "begin anew, although the replica holds a backup" },
      "take-over": { about: "write to a replica whose other owner will never run again" },
    },
    about: "Run the instance.",
    run: (given, terminal) =>
      serve(
        {
          config: given.text("config"),
          isProbe: given.isSet("probe"),
          replica: { startEmpty: given.isSet("start-empty"), takeOver: given.isSet("take-over") },
        },
        terminal,
      ),
  },
  restore,
  {
    name: "health",
    arguments: [],
    options: {
      config: { value: "FILE", about: "the configuration, as for serve" },
      "data-dir": { value: "DIR", about: "the data directory, instead of the configuration" },
    },
    about: "End with 0 while the instance answers, else with 1: for the health check of a container.",
    run: (given, terminal) => health({ config: given.text("config"), dataDir: given.text("data-dir") }, terminal),
  },
  {
    name: "update",
    arguments: ["FILE|URL"],
    options: {
      sha256: { value: "HEX", about: "its checksum; for a URL pombo also verifies the signature at URL.minisig" },
      "allow-downgrade": { about: "from a URL: accept an older version too" },
      config: { value: "FILE", about: "the configuration, as for serve" },
    },
    about:
      "Put another pombo in the place of this one. It is tried first; while it has accepted and sent nothing, all goes back when it fails.",
    run: (given, terminal) =>
      update(
        {
          from: given.argument("FILE|URL"),
          sha256: given.text("sha256"),
          allowDowngrade: given.isSet("allow-downgrade"),
          config: given.text("config"),
        },
        terminal,
      ),
  },
  {
    name: "version",
    arguments: [],
    options: { json: JSON_OPTION },
    about: "Say what this is.",
    run: (given, terminal) => terminal.out(given.isSet("json") ? jsonLine(versionRecord()) : versionText()),
  },
  ...[
    WORKSPACE_COMMANDS,
    KEY_COMMANDS,
    CREDITS_COMMANDS,
    SENDER_COMMANDS,
    SUPPRESSION_COMMANDS,
    DOMAIN_COMMANDS,
    INBOX_COMMANDS,
    status,
    QUEUE_COMMANDS,
    trace,
    SMS_COMMANDS,
  ]
    .flat()
    .map(operatorCommand),
];

/** Runs the command that `args` name. Throws StartError or CommandError for what a person can mend. */
export async function runCommand(args: string[], terminal: Terminal): Promise<void> {
  const words = args[0] === "--version" ? ["version"] : args;
  const [first = "help", ...rest] = words;
  if (HELP.includes(first)) return terminal.out(helpOn(rest));
  if (asksForHelp(words)) return terminal.out(helpOn(words));
  const command = findCommand(words);
  if (command === null) throw unknownCommand(words);
  const behind = words.slice(command.name.split(" ").length);
  // `pombo queue lst`: the group's own command takes no argument, so a command of the group was meant.
  if (isOfGroup(command) && behind[0] !== undefined && /^[^-]/.test(behind[0])) throw unknownCommand(words);
  try {
    await command.run(readArguments(command, behind), terminal);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new CommandError(`pombo ${command.name}: ${error.message}\n\n${commandHelp(command)}`, 2);
  }
}

/** The one with the most words: `inbox show` is not `inbox`. */
function findCommand(words: string[]): Command | null {
  const found = COMMANDS.filter(({ name }) => name.split(" ").every((word, index) => words[index] === word));
  return found.find(({ name }) => name.includes(" ")) ?? found[0] ?? null;
}

function groupOf(words: string[]): Command[] {
  return COMMANDS.filter(({ name }) => name.split(" ")[0] === words[0]);
}

function asksForHelp(words: string[]): boolean {
  const end = words.indexOf("--");
  return words.slice(0, end < 0 ? undefined : end).some((word) => word === "--help" || word === "-h");
}

/** One word, with others behind it that are commands too. */
function isOfGroup({ name }: Command): boolean {
  return !name.includes(" ") && groupOf([name]).length > 1;
}

function helpOn(words: string[]): string {
  const [first] = words;
  if (first === undefined || HELP.includes(first)) return overview(COMMANDS);
  if (first === "exit-codes") return exitCodes();
  const command = findCommand(words);
  if (command !== null && !isOfGroup(command)) return commandHelp(command);
  const group = groupOf(words);
  if (group.length > 0) return groupHelp(group);
  throw unknownCommand(words);
}

/** The reason stands last on the screen: no long help behind it. */
function unknownCommand([first = "", second]: string[]): CommandError {
  const group = groupOf([first]);
  if (group.length === 0) {
    const names = [...new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? ""))];
    const fault = `pombo has no command ${plain(first)}.${meant(first, names)}`;
    return new CommandError(`${fault} pombo --help names them all.`, 2);
  }
  const known = group.flatMap(({ name }) => name.split(" ")[1] ?? []);
  const fault = second === undefined ? "does nothing by itself" : `has no command ${plain(second)}`;
  const guess = second === undefined ? "" : meant(second, known);
  return new CommandError(
    `pombo ${first} ${fault}.${guess} It has ${known.join(", ")}. pombo ${first} --help says more.`,
    2,
  );
}

function meant(word: string, known: readonly string[]): string {
  const guess = nearest(word, known);
  return guess === null ? "" : ` Did you mean ${guess}?`;
}

const DEV_PORT = 8080;

function portOf(given: Given): number {
  const value = given.text("port");
  if (value === undefined) return DEV_PORT;
  const port = Number(value);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 0 to 65535, not ${plain(value)}.`);
}
