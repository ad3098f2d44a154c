import { systemClock } from "../../platform/clock.ts";
import type { Terminal } from "../framework/terminal.ts";
import type { Command, Given, Option } from "../framework/definition.ts";
import { type OperatorApi, operatorApi } from "./instance-client.ts";
import { becomeOwner } from "./data-owner.ts";
import { findInstance } from "./settings.ts";
import { type Column, tableLines } from "../framework/table.ts";
import { jsonLine } from "../framework/text.ts";

// The operator's commands: entries that say what they ask the instance for and how that is shown. What they have
// in common (finding the instance, its options, the two ways of showing) is here.

/** What a command works with. */
export interface Work {
  api: OperatorApi;
  given: Given;
  terminal: Terminal;
  /** For programs: the API's `data`, and nothing else. */
  isJson: boolean;
}

/** What came of a command. `data` is the API's. */
export type Shown =
  /** `exitCode`: what the process ends with, when not with 0. */
  | { kind: "words"; data: unknown; words: string; exitCode?: number }
  /** `empty`: what is said when there is nothing. */
  | { kind: "list"; data: readonly unknown[]; lines: (width: number | null) => string[]; empty: string }
  /** It has shown all itself. */
  | { kind: "shown" };

export interface OperatorCommand {
  name: string;
  arguments?: readonly string[];
  options?: Readonly<Record<string, Option>>;
  about: string;
  /** It is about an instance that runs: where none does, it ends with 3. */
  isOfRunning?: true;
  run(work: Work): Promise<Shown>;
}

const COMMON: Readonly<Record<string, Option>> = {
  config: {
    value: "FILE",
    about: "the instance's configuration (pombo.toml, then /etc/pombo/config.toml; or POMBO_CONFIG)",
  },
  "data-dir": { value: "DIR", about: "the instance's data directory, instead of its configuration" },
  json: { about: "one line of JSON for programs: the API's data" },
};

/** The entry as a command of the table. */
export function operatorCommand(entry: OperatorCommand): Command {
  return {
    name: entry.name,
    arguments: entry.arguments ?? [],
    options: { ...entry.options, ...COMMON },
    about: entry.about,
    async run(given, terminal) {
      const place = findInstance({ config: given.text("config"), dataDir: given.text("data-dir") }, terminal.env);
      becomeOwner(place.dataDir);
      const api = operatorApi(place, terminal, systemClock, entry.isOfRunning === true);
      const isJson = given.isSet("json");
      try {
        show(await entry.run({ api, given, terminal, isJson }), isJson, terminal);
      } finally {
        await api.close();
      }
    },
  };
}

/** A list that is shown as a table. */
export function list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty: string): Shown {
  return { kind: "list", data: rows, lines: (width) => tableLines(rows, columns, width), empty };
}

/** A record, said in words. */
export function record(data: unknown, words: string): Shown {
  return { kind: "words", data, words };
}

function show(shown: Shown, isJson: boolean, terminal: Terminal): void {
  if (shown.kind === "shown") return;
  if (shown.kind === "words" && shown.exitCode !== undefined) terminal.ends(shown.exitCode);
  if (isJson) return terminal.out(jsonLine(shown.data));
  if (shown.kind === "words") return shown.words === "" ? undefined : terminal.out(shown.words);
  if (shown.data.length > 0) return terminal.out(shown.lines(terminal.width).join("\n"));
  // Another program that reads the list gets an empty one.
  if (terminal.width === null) terminal.err(shown.empty);
  else terminal.out(shown.empty);
}
