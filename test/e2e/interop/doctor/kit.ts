// What the cases are made of: the executable's `pombo doctor --json`, its findings, and lines that say what became of them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FINDING_IDS, type FindingId } from "../../../../src/modules/doctor/catalog.ts";
import type { Finding, Level } from "../../../../src/modules/doctor/finding.ts";
import { findPombo, toToml, type TomlTable } from "../../../support/peers/pombo.ts";
import { mustRun, run } from "../../../support/peers/process.ts";
import { SELF, WORLD_RANGES } from "./network.ts";
import { BOUNCE_HOST, HOST, LISTS, MX_DOMAIN, NAME_LIST, RESOLVERS } from "./world.ts";

export interface Report {
  tookMs: number;
  findings: (Omit<Finding, "subject"> & { subject: string | null })[];
}

/** What the part outside has found for the part in the namespace: paths of programs, null where there is none. */
export interface Order {
  isSmoke: boolean;
  chrony: string | null;
  exim: string | null;
}

export type Settings = Record<string, TomlTable | TomlTable[]>;

/** What each configuration has unless its case says otherwise. */
const USUAL: Settings = {
  dns: { servers: [RESOLVERS.good] },
  email: { allow_private_ranges: WORLD_RANGES, bounce_host: BOUNCE_HOST },
  inbound: { listen: `${SELF}:25` },
  doctor: {
    every: "0s",
    block_lists: [LISTS.good],
    name_lists: [NAME_LIST],
    probes: [MX_DOMAIN],
    time_server: "time.example.com",
  },
};

export function mergeSettings(changes: Settings): Settings {
  const names = new Set([...Object.keys(USUAL), ...Object.keys(changes)]);
  return Object.fromEntries(
    [...names].map((name) => {
      const change = changes[name] ?? {};
      return [name, Array.isArray(change) ? change : { ...USUAL[name], ...change }];
    }),
  );
}

/** How the command is run: words before it, and its environment. */
export interface Way {
  prefix?: readonly string[];
  env?: Record<string, string>;
}

export interface Doctor {
  /** Of the running instance. `words`: further ones of the command. */
  look(only?: string, words?: readonly string[]): Promise<Report>;
  /** Of another configuration, whose instance does not run. */
  lookBefore(changes: Settings, only: string, way?: Way): Promise<Report>;
}

export async function openDoctor(folder: string, instanceConfig: string): Promise<Doctor> {
  const { command } = findPombo();
  const root = join(folder, "before");
  mkdirSync(root, { recursive: true });
  const [configFile, dataFolder] = [join(root, "config.toml"), join(root, "data")];
  await mustRun([...command, "init", "--config", configFile, "--data-dir", dataFolder, "--hostname", HOST]);
  const call = async (
    config: string,
    only: string | undefined,
    { words = [], prefix = [], env }: Way & { words?: readonly string[] } = {},
  ): Promise<Report> => {
    const filter = only === undefined ? words : ["--only", only, ...words];
    const asked = [...prefix, ...command, "doctor", "--json", "--config", config, ...filter];
    const { exitCode, output } = await run(asked, env);
    const line = output.split("\n").find((each) => each.startsWith("{"));
    if (line === undefined) throw new Error(`pombo doctor said ${exitCode}: ${output.slice(0, 1000)}`);
    const parsed = JSON.parse(line) as Report & { data?: Report };
    const report = parsed.data ?? parsed;
    const hasProblem = report.findings.some(({ level }) => level === "problem");
    if (exitCode !== (hasProblem ? 1 : 0))
      throw new Error(`pombo doctor ended with ${exitCode}, problems: ${hasProblem}`);
    return report;
  };
  return {
    look: (only, words) => call(instanceConfig, only, words === undefined ? {} : { words }),
    async lookBefore(changes, only, way) {
      const table = { hostname: HOST, data_dir: dataFolder, ...mergeSettings(changes) };
      writeFileSync(configFile, toToml(table));
      return await call(configFile, only, way);
    },
  };
}

/** Counts what each id was seen as, so that what is missing can be told. */
export function openLines() {
  const seen = new Map<FindingId, Set<"ok" | "bad" | "cured">>();
  const note = (id: FindingId, what: "ok" | "bad" | "cured") =>
    void seen.set(id, (seen.get(id) ?? new Set()).add(what));
  return {
    claim(name: string, isTrue: boolean, detail: () => string = () => ""): boolean {
      console.log(isTrue ? `ok      doctor: ${name}` : `FAILED  doctor: ${name} ⇒ ${detail().replaceAll("\n", " ⏎ ")}`);
      return isTrue;
    },
    /** The finding of this id and subject is of this level. @returns it */
    expect(
      { findings }: Report,
      want: { id: FindingId; level: Level; subject?: string; what: string; isCure?: boolean },
    ): Report["findings"][number] | null {
      const { id, level, subject, what, isCure = false } = want;
      const own = findings.filter((each) => each.id === id && (subject === undefined || each.subject === subject));
      const found = own.find((each) => each.level === level) ?? own[0];
      const isThere = found?.level === level && (level !== "ok" || own.every((each) => each.level === "ok"));
      // What a step has made well is well.
      if (isThere) note(id, level === "ok" ? "ok" : "bad");
      if (isThere && isCure) note(id, "cured");
      this.claim(`${id}: ${what}: ${level}`, isThere, () =>
        own.length === 0
          ? "no such finding"
          : own.map((each) => `${each.level}: ${each.seen} ${each.step ?? ""}`).join("; "),
      );
      return isThere ? (found ?? null) : null;
    },
    notRun(what: string): void {
      console.log(`NOT RUN doctor, ${what}`);
    },
    /** Of every id, what this run did not see. */
    sum(): void {
      const missing = (what: "ok" | "bad" | "cured") => FINDING_IDS.filter((id) => seen.get(id)?.has(what) !== true);
      for (const [what, words] of [
        ["ok", "no case that is well"],
        ["bad", "no case that is broken"],
        ["cured", "no step carried out"],
      ] as const) {
        const ids = missing(what);
        console.log(
          `doctor: ${FINDING_IDS.length - ids.length} of ${FINDING_IDS.length} ids; ${words}: ${ids.join(", ") || "none"}`,
        );
      }
    },
  };
}

export type Lines = ReturnType<typeof openLines>;
