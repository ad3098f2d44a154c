// The parts that the operator's commands share: the search for the instance, the common options, the output.

import { systemClock } from "../../platform/clock.ts";
import type { Arguments, Command, Option, Terminal } from "../framework/definition.ts";
import { type OperatorApi, openOperatorApi } from "./instance-client.ts";
import { becomeOwner } from "./data-owner.ts";
import { findInstance } from "./settings.ts";
import { type Column, type TableOptions, tableLines } from "../framework/table.ts";
import { jsonLine } from "../framework/text.ts";

export interface Work {
  api: OperatorApi;
  args: Arguments;
  terminal: Terminal;
  /** Print only the API's `data`, for programs. */
  isJson: boolean;
}

/** The outcome of a command. `data` is the API's. */
export type Shown =
  /** `exitCode`: default 0. */
  | { kind: "words"; data: unknown; words: string; exitCode?: number }
  /** `empty`: the text for an empty list. */
  | { kind: "list"; data: readonly unknown[]; lines: (options: TableOptions | null) => string[]; empty: string }
  /** The command has printed everything itself. */
  | { kind: "shown" };

export interface OperatorCommand {
  name: string;
  arguments?: readonly string[];
  options?: Readonly<Record<string, Option>>;
  about: string;
  /** It needs a running instance, and ends with 3 where there is none. */
  needsInstance?: true;
  run(work: Work): Promise<Shown>;
}

const COMMON: Readonly<Record<string, Option>> = {
  config: {
    value: "FILE",
    about: "the instance's configuration (POMBO_CONFIG, pombo.toml, /etc/pombo/config.toml)",
  },
  "data-dir": { value: "DIR", about: "the instance's data directory, instead of its configuration" },
  json: { about: "print the API's data as one line of JSON, for programs" },
};

export function operatorCommand(entry: OperatorCommand): Command {
  return {
    name: entry.name,
    arguments: entry.arguments ?? [],
    options: { ...entry.options, ...COMMON },
    about: entry.about,
    async run(args, terminal) {
      const place = findInstance({ config: args.text("config"), dataDir: args.text("data-dir") }, terminal.env);
      becomeOwner(place.dataDir);
      const api = openOperatorApi(place, terminal, systemClock, entry.needsInstance === true);
      const isJson = args.isSet("json");
      try {
        show(await entry.run({ api, args, terminal, isJson }), isJson, terminal);
      } finally {
        await api.close();
      }
    },
  };
}

export function list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): Shown {
  return { kind: "list", data: rows, lines: (options) => tableLines(rows, columns, options), empty };
}

export function record(data: unknown, words: string): Shown {
  return { kind: "words", data, words };
}

function show(shown: Shown, isJson: boolean, terminal: Terminal): void {
  if (shown.kind === "shown") return;
  if (shown.kind === "words" && shown.exitCode !== undefined) terminal.setExitCode(shown.exitCode);
  if (isJson) return terminal.out(jsonLine(shown.data));
  if (shown.kind === "words") return shown.words === "" ? undefined : terminal.say(shown.words);
  if (shown.data.length > 0) return terminal.say(shown.lines(getTableOptions(terminal)).join("\n"));
  // A program that reads the list gets an empty one.
  if (terminal.width === null) terminal.err(shown.empty);
  else terminal.say(shown.empty);
}

/** Null: another program reads the output. */
export function getTableOptions({ width }: Terminal): TableOptions | null {
  return width === null ? null : { width, now: systemClock.now() };
}
