// A restore drill: the replica is restored beside the database, checked whole, compared with what the database
// holds, and removed. It only reads the replica and the database, so that it may be made at any time.
//
// One is made each week. The last one stands in a file of the data directory: the instance and a command both make
// them, and neither needs the other's database for it.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../platform/context.ts";
import type { Config } from "../config/config.ts";
import { type DatabaseMarks, readMarks, readSchemaState } from "../platform/db/file/inspect-file.ts";
import { createFreeSpaceReader } from "../platform/db/disk-guard.ts";
import { getDatabaseBytes } from "../platform/db/file/snapshot.ts";
import { StartError } from "../platform/errors.ts";
import { databaseFile } from "../platform/db/open.ts";
import { inspectReplica } from "./litestream/catalog.ts";
import { getPlaces } from "./litestream/config.ts";
import { openControl } from "./litestream/control.ts";
import { restoreLineage } from "./litestream/replica.ts";
import { openTools } from "./litestream/tools.ts";
import { takeLock } from "../platform/instance-lock.ts";
import { describeRemedy, findDamageOnThread } from "../platform/db/file/page-check.ts";
import type { OpenThread } from "../platform/worker-threads/worker-thread.ts";
import { BackgroundTask } from "../platform/background-task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { HealthIssue } from "../platform/health-issue.ts";

export interface Drill {
  /** Unix ms. */
  at: number;
  outcome: "good" | "bad" | "skipped";
  /** A sentence: what was found, or why not. */
  words: string;
  tookMs: number;
  /** When the last good one was, Unix ms; null: there was none. */
  goodAt: number | null;
}

const drillFile = (dataDir: string) => join(dataDir, "drill.json");

/** Null: there was none yet, or the file is not one. */
export function readDrill(dataDir: string): Drill | null {
  try {
    const drill = JSON.parse(readFileSync(drillFile(dataDir), "utf8")) as Partial<Drill>;
    const { at, outcome, words, tookMs, goodAt } = drill;
    const isWhole = typeof at === "number" && typeof words === "string" && typeof tookMs === "number";
    if (!isWhole || outcome === undefined || goodAt === undefined) return null;
    return { at, outcome, words, tookMs, goodAt };
  } catch {
    return null;
  }
}

function writeDrill(dataDir: string, drill: Drill): void {
  const draft = `${drillFile(dataDir)}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, JSON.stringify(drill), { mode: 0o600, flag: "wx" });
  renameSync(draft, drillFile(dataDir));
}

export interface DrillDeps {
  config: Config;
  environment: Pick<Environment, "clock" | "readFree">;
  openThread: OpenThread;
  signal?: AbortSignal;
}

/** For the daemon to copy the last changes first. */
const SYNC_LIMIT_MS = 30_000;
const INSPECT_LIMIT_MS = 60_000;
const FREE_TIMES = 2;
const MIB = 1024 * 1024;

/** Makes a drill and writes it down. Throws StartError where one is under way. */
export async function drillReplica(deps: DrillDeps): Promise<Drill> {
  const { config, environment, signal } = deps;
  const { dataDir } = config;
  const lock = takeLock(dataDir, "command", "drill.lock");
  if (lock.kind === "held") throw new StartError("A restore drill is under way already: wait for its end.");
  const at = environment.clock.now();
  const before = readDrill(dataDir);
  try {
    const shortage = findShortage(deps);
    const found = shortage === null ? await attempt(deps) : ({ outcome: "skipped", words: shortage } as const);
    const drill = {
      at,
      ...found,
      tookMs: Math.max(0, environment.clock.now() - at),
      goodAt: found.outcome === "good" ? at : (before?.goodAt ?? null),
    };
    if (signal?.aborted !== true) writeDrill(dataDir, drill);
    return drill;
  } finally {
    lock.release();
  }
}

function findShortage({ config, environment }: DrillDeps): string | null {
  const needed = FREE_TIMES * getDatabaseBytes(databaseFile(config.dataDir));
  const { freeBytes } = (environment.readFree ?? createFreeSpaceReader(config.dataDir))();
  if (freeBytes >= needed) return null;
  return `It needs ${Math.ceil(needed / MIB)} MiB of free disk, twice the database, and there are ${Math.floor(freeBytes / MIB)} MiB.`;
}

async function attempt({ config, openThread, signal }: DrillDeps): Promise<Pick<Drill, "outcome" | "words">> {
  const { dataDir, replication } = config;
  const database = databaseFile(dataDir);
  // A folder of its own: the running daemon's files stay as they are.
  const folder = join(dataDir, "drill");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  try {
    const tools = await openTools(replication, { dataDir: folder, database }, signal);
    const live = existsSync(database) ? readMarks(database, { isInUse: true }) : null;
    await openControl(getPlaces(dataDir, database).socket).sync(database, SYNC_LIMIT_MS);
    const copy = join(folder, "pombo.db");
    const { replica, lineages } = await inspectReplica(tools, { limitMs: INSPECT_LIMIT_MS });
    if (replica.kind === "empty") return bad("The replica could not be restored: it holds no whole copy.");
    if (replica.kind !== "backup") return bad(`The replica could not be restored: ${replica.reason}.`);
    if (replica.lineage !== lineages.at(-1)?.id) {
      const words = "A new copy of the whole database is on its way into the replica. It is drilled when it is there.";
      return { outcome: "skipped", words };
    }
    const reason = await restoreLineage(tools, replica.lineage, { to: copy, how: "full" });
    if (reason !== null) return bad(`The replica could not be restored: ${reason}.`);
    if (readSchemaState(copy).kind !== "usable") return bad("The restored file is no database of this pombo's.");
    const restored = readMarks(copy, { isInUse: false });
    const lack = live === null ? null : findMissingData(restored, live, readMarks(database, { isInUse: true }));
    if (lack !== null) return bad(lack);
    const damage = live === null ? [] : await findDamageOnThread(database, openThread, signal);
    if (damage.length > 0)
      return bad(
        `The replica is whole, but pages of the database in use are damaged (${damage.join("; ")}). ${describeRemedy(dataDir)}`,
      );
    const { newestEmail, newestText, workspaces, domains } = restored;
    const compared = live === null ? "there is no database here to compare it with" : "as the database has them";
    const words = `Restored and whole: emails up to number ${newestEmail}, texts up to number ${newestText}, ${count(workspaces, "workspace")}, ${count(domains, "domain")}; ${compared}.`;
    return { outcome: "good", words };
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return bad(error.message);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the restored database lacks, compared with the one in use just before and just after; null: nothing. */
function findMissingData(restored: DatabaseMarks, before: DatabaseMarks, after: DatabaseMarks): string | null {
  if (restored.instance !== before.instance) return "The replica is that of another instance.";
  for (const [name, number] of [
    ["emails", "newestEmail"],
    ["texts", "newestText"],
  ] as const) {
    if (restored[number] < before[number])
      return `The replica lacks the newest ${name}: it has them up to number ${restored[number]}, the database had ${before[number]}.`;
  }
  for (const name of ["workspaces", "domains"] as const) {
    const [least, most] = [Math.min(before[name], after[name]), Math.max(before[name], after[name])];
    if (restored[name] < least || restored[name] > most)
      return `The replica has ${restored[name]} ${name}, the database ${after[name]}.`;
  }
  return null;
}

function bad(words: string): Pick<Drill, "outcome" | "words"> {
  return { outcome: "bad", words };
}

function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? "" : "s"}`;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

export interface WeeklyDrillDeps {
  last: () => Drill | null;
  /** Makes one, and writes it down. */
  run: (signal: AbortSignal) => Promise<Drill>;
  clock: Clock;
  log: Log;
}

/** Has a drill made each week, and the day after one that did not go well. */
export class WeeklyDrill {
  readonly #deps: WeeklyDrillDeps;
  readonly #task: BackgroundTask;

  constructor(deps: WeeklyDrillDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    this.#task = new BackgroundTask({ name: "drill", run: (stopping) => this.#look(stopping), clock, log });
  }

  /** The first look is an hour after the start, which has enough to do. */
  start(): void {
    this.#task.start(HOUR_MS);
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  get last(): Drill | null {
    return this.#deps.last();
  }

  /** A replica that cannot be restored is an issue, though mail goes on. */
  get issue(): HealthIssue | null {
    const { last } = this;
    if (last?.outcome !== "bad") return null;
    const reason = `The last restore drill failed: ${last.words} Look at it with pombo restore --drill.`;
    return { component: "replication", kind: "drill", reason, since: last.at, isAdvisory: true };
  }

  async #look(stopping: AbortSignal): Promise<number> {
    const { clock, log, run } = this.#deps;
    const { last } = this;
    const ageMs = last === null ? WEEK_MS : clock.now() - last.at;
    // One of the future was made before the clock was set back.
    if (ageMs >= 0 && ageMs < (last?.outcome === "good" ? WEEK_MS : DAY_MS)) return HOUR_MS;
    try {
      const { outcome, words, tookMs } = await run(stopping);
      if (!stopping.aborted) log.event(`drill.${outcome}`, { words, ms: tookMs }, outcome === "good" ? "info" : "warn");
    } catch (error) {
      if (!stopping.aborted) log.error("drill", error);
    }
    return HOUR_MS;
  }
}
