/**
 * An instance that is updated: a world whose pombo is a copy of the one under test at a place of its own, started by
 * hand, and another pombo to update it to.
 */
import { Database } from "bun:sqlite";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readSetting } from "../../../src/platform/db/instance-settings.ts";
import { findPombo } from "../../support/peers/pombo.ts";
import { freePort, waitUntil } from "../../support/peers/process.ts";
import { type Child, spawnCommand } from "./child.ts";
import { type CountingMx, startCountingMx } from "./counting-mx.ts";
import { buildNext, buildThis, type Fault } from "./next-build.ts";
import { createWorld, type Served, type World, type WorldOptions } from "./world.ts";

export const LIMIT_MS = 30_000;

/** Built once a file of tests. */
export interface Builds {
  old: string;
  next: string;
}

export async function makeBuilds(folder: string): Promise<Builds> {
  const { command } = findPombo();
  const [binary = ""] = command;
  const old = command.length === 1 ? binary : await buildThis(folder);
  return { old, next: await buildNext(folder) };
}

export interface UpdateWorld extends AsyncDisposable {
  world: World;
  mx: CountingMx;
  /** Where the instance's executable is. */
  binary: string;
  url: string;
  /** Starts what stands there, with the fault for the pombo that comes after it; ended with the world. */
  serve(fault?: Fault): Promise<Served>;
  /** Runs the same binary with other arguments; with a fault for what is started while nothing runs. */
  run(args: string[], env?: Record<string, string>): Child;
  /** `pombo update FILE` for this instance. */
  update(file: string, more?: string[]): Child;
  /** The version of what stands there. */
  version(): Promise<string>;
  schema(): number;
  /** The update that could still go back; empty: none. */
  probation(): string | null;
  /** The process that holds the directory. */
  holder(): number | null;
}

export async function createUpdateWorld(builds: Builds, settings: WorldOptions["settings"] = {}): Promise<UpdateWorld> {
  const mx = await startCountingMx();
  // The same before and after.
  const url = `127.0.0.1:${await freePort()}`;
  const world = await createWorld({ mxPort: mx.port, settings: { http: { listen: url }, ...settings } });
  const binary = join(world.folder, "bin/pombo");
  mkdirSync(join(world.folder, "bin"));
  copyFileSync(builds.old, binary);
  const started: Served[] = [];
  const run: UpdateWorld["run"] = (args, env = {}) => spawnCommand([binary, ...args], { env });
  const holder = () => {
    try {
      return Number(readFileSync(join(world.dataDir, "lock.pid"), "utf8").split(/\s/)[0]);
    } catch {
      return null;
    }
  };
  return {
    world,
    mx,
    url: `http://${url}`,
    binary,
    run,
    holder,
    async serve(fault) {
      const env = fault === undefined ? {} : { POMBO_TEST_FAULT: fault };
      const served = await world.serve({ command: [binary], env });
      started.push(served);
      return served;
    },
    update: (file, more = []) => run(["update", file, "--config", world.configFile, ...more]),
    async version() {
      await using child = run(["version", "--json"]);
      await child.ended;
      return (JSON.parse(child.stdout()) as { version: string }).version;
    },
    schema() {
      const sqlite = new Database(join(world.dataDir, "pombo.db"), { readwrite: true });
      try {
        return sqlite.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? -1;
      } finally {
        sqlite.close();
      }
    },
    probation: () => readSetting(join(world.dataDir, "pombo.db"), "update_probation"),
    async [Symbol.asyncDispose]() {
      // First what an update has started: it is nobody's child here, and writes to where the one before it wrote.
      const last = holder();
      if (last !== null) await endInstance(last, binary);
      for (const served of started) await served[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
      await mx[Symbol.asyncDispose]();
    },
  };
}

/** Ends what an update has started. Nothing else: the executable is this world's own. */
async function endInstance(pid: number, binary: string): Promise<void> {
  const isOurs = () => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`${binary}\0`) && !isZombie(pid);
    } catch {
      return false;
    }
  };
  if (!isOurs()) return;
  process.kill(pid, "SIGTERM");
  await waitUntil("what the update started ends", LIMIT_MS, () => !isOurs());
}

function isZombie(pid: number): boolean {
  return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}
