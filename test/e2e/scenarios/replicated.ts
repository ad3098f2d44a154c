/** What the scenarios of replication share: the daemon's process, what is in a replica, an ordered stop. */
import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { isId } from "../../../src/platform/uuid.ts";
import { runPombo, within } from "./child.ts";
import type { Load } from "./load.ts";
import { readEmails, type StoredEmail } from "./stored.ts";
import { bugsOf, type Served, type World } from "./world.ts";

/** Whether the pombo under test has Litestream in it. */
export async function findDaemon(): Promise<boolean> {
  const { stdout } = await runPombo(["version"]);
  const isThere = !stdout.includes("Litestream none");
  if (!isThere) console.warn("SKIPPED: replication needs a pombo that was built with Litestream.");
  return isThere;
}

/** Of the last that was started; 0: none was. It comes up behind the start. */
export function daemonPid(world: World): number {
  const file = join(world.dataDir, "litestream/pid");
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
}

export function isDaemon(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("replicate");
  } catch {
    return false;
  }
}

/** The lineages of a replica, the oldest first. */
export function lineagesIn(replica: string): string[] {
  return existsSync(replica) ? readdirSync(replica).filter(isId).toSorted() : [];
}

/** The number up to which the files of a level of its newest lineage go. */
export function lastStep(replica: string, level: number): number {
  const folder = join(replica, lineagesIn(replica).at(-1) ?? "", "ltx", String(level));
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return Math.max(0, ...names.map((name) => Number.parseInt(/-([0-9a-f]{16})\.ltx$/.exec(name)?.[1] ?? "0", 16)));
}

/** Subjects in a database. */
function subjectsIn(file: string): Set<string> {
  const database = new Database(file);
  try {
    const rows = database.query<{ subject: string }, []>("SELECT subject FROM email").all();
    return new Set(rows.map(({ subject }) => subject));
  } finally {
    database.close();
  }
}

/** Subjects of what the replica holds now. */
export function subjectsInReplica(world: World): Set<string> {
  return subjectsIn(restore(world, world.folder, {}));
}

/** What a machine that has nothing but the replica knows of each email, by its subject. */
export function emailsInReplica(world: World): Map<string, StoredEmail> {
  const folder = mkdtempSync(join(world.folder, "lost-"));
  renameSync(restore(world, folder, {}), join(folder, "pombo.db"));
  return new Map([...readEmails(folder).values()].map((email) => [email.subject, email]));
}

/** What the daemon brings back from the replica, checked by it. */
function restore(world: World, folder: string, env: Record<string, string>): string {
  const daemon = join(world.dataDir, "litestream");
  const binary = [...new Bun.Glob("litestream-*").scanSync({ cwd: daemon })].find((name) => !name.endsWith(".new"));
  const file = join(folder, `restored-${Bun.randomUUIDv7()}.db`);
  const words = ["restore", "-config", join(daemon, "litestream.yml"), "-no-expand-env", "-integrity-check", "full"];
  const path = binary === undefined ? sourceDaemon() : join(daemon, binary);
  const ran = Bun.spawnSync([path, ...words, "-o", file, join(world.dataDir, "pombo.db")], { env });
  expect({ code: ran.exitCode, err: ran.stderr.toString() }).toMatchObject({ code: 0 });
  return file;
}

/** Of a pombo that runs from its sources. */
function sourceDaemon(): string {
  return Bun.spawnSync(["bash", join(import.meta.dir, "../../../script/litestream")])
    .stdout.toString()
    .trim();
}

export async function stopInOrder(process: Served): Promise<void> {
  const startedAt = performance.now();
  process.signal("SIGTERM");
  expect(await within(60_000, "the stop", process.ended)).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedAt).toBeLessThan(60_000);
  expect(bugsOf(process)).toEqual([]);
}

/** All that was accepted is in the database, and all of that in the replica. `env`: for the daemon. */
export function expectAllInReplica(world: World, load: Load, env: Record<string, string> = {}): void {
  const kept = new Set([...readEmails(world.dataDir).values()].map(({ subject }) => subject));
  for (const subject of load.accepted.keys()) expect(kept.has(subject)).toBe(true);
  expect(subjectsIn(restore(world, world.folder, env))).toEqual(kept);
}
