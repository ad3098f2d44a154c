import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../platform/environment.ts";
import type { Config } from "../config/config.ts";
import { type DatabaseMarks, readMarks, readSchemaState } from "../platform/db/inspect-file.ts";
import { createFreeSpaceReader } from "../platform/db/disk-guard.ts";
import { getDatabaseBytes } from "../platform/db/snapshot.ts";
import { StartError } from "../platform/errors.ts";
import { databaseFile } from "../platform/db/open.ts";
import { controlBy } from "./litestream/control.ts";
import { placesOf } from "./litestream/config.ts";
import { type Drill, readDrill, writeDrill } from "./litestream/drill-schedule.ts";
import { bringFromReplica } from "./litestream/replica.ts";
import { openTools } from "./litestream/tools.ts";
import { takeLock } from "../platform/instance-lock.ts";
import { describeRemedy, findDamageOnThread } from "../platform/db/page-check.ts";
import type { OpenThread } from "../platform/worker-threads/worker-thread.ts";

// A restore drill: what is in the replica is restored beside the database, checked whole, compared with what the
// database holds, and removed. It reads the replica and the database alone, so that it may be made at any time.

export interface DrillDeps {
  config: Config;
  environment: Pick<Environment, "clock" | "readFree">;
  openThread: OpenThread;
  /** Breaks it off. */
  signal?: AbortSignal;
}

/** What the daemon gets to copy the last changes first. */
const SYNC_LIMIT_MS = 30_000;
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
    const shortage = shortageOf(deps);
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

function shortageOf({ config, environment }: DrillDeps): string | null {
  const needed = FREE_TIMES * getDatabaseBytes(databaseFile(config.dataDir));
  const { freeBytes } = (environment.readFree ?? createFreeSpaceReader(config.dataDir))();
  if (freeBytes >= needed) return null;
  return `It needs ${Math.ceil(needed / MIB)} MiB of free disk, twice the database, and there are ${Math.floor(freeBytes / MIB)} MiB.`;
}

async function attempt({ config, openThread, signal }: DrillDeps): Promise<Pick<Drill, "outcome" | "words">> {
  const { dataDir, replication } = config;
  const database = databaseFile(dataDir);
  // Of its own: what the running daemon reads is left alone.
  const folder = join(dataDir, "drill");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  try {
    const tools = await openTools(replication, { dataDir: folder, database }, signal);
    const live = existsSync(database) ? readMarks(database, { isInUse: true }) : null;
    await controlBy(placesOf(dataDir, database).socket).sync(database, SYNC_LIMIT_MS);
    const copy = join(folder, "pombo.db");
    const reason = await bringFromReplica(tools, copy, { how: "full" });
    if (reason !== null) return bad(`The replica could not be restored: ${reason}.`);
    if (readSchemaState(copy).kind !== "usable") return bad("What came back is no database of this pombo's.");
    const restored = readMarks(copy, { isInUse: false });
    const lack = live === null ? null : lackOf(restored, live, readMarks(database, { isInUse: true }));
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

/** What is missing in what came back, beside the database just before and just after; null: nothing. */
function lackOf(restored: DatabaseMarks, before: DatabaseMarks, after: DatabaseMarks): string | null {
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
