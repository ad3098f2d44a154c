import { spawn } from "node:child_process";
import { existsSync, realpathSync, renameSync, rmSync, statfsSync } from "node:fs";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { databaseBytes, readSchema, syncFolderOf } from "../db/snapshot.ts";
import { databaseFile } from "../ground.ts";
import { newId } from "../id.ts";
import { endDaemonOf } from "../litestream/orphan.ts";
import { takeLock } from "../lock.ts";
import { systemRandom } from "../random.ts";
import { type Journal, readJournal, snapshotFile } from "../update/journal.ts";
import { settle, sha256Of, updateUnderWay } from "../update/settle.ts";
import type { Terminal } from "./command.ts";
import { CommandError } from "./failure.ts";
import { configFileOf, readConfig } from "./settings.ts";
import { findRunning, type Running, unitNamed } from "./update-instance.ts";
import { runUpdate, type Update } from "./update-run.ts";
import { bringExecutable, type Source } from "./update-source.ts";
import { nameOf, versionRecord, type VersionRecord } from "./version.ts";

// `pombo update`: puts another executable in the place of this one. In order: it is brought and checked; the
// running instance ends; the database is copied; the new executable shows that it can run the instance (`serve
// --probe`); it takes the place of this one and is started. Until then, and as long as it has accepted and sent
// nothing, everything goes back by itself when something fails: what was of the old executable is as it was.
// After that nothing goes back: it would lose what was accepted, and send again what was sent. Each stage is in
// a journal (src/update), so that a start after a crash or kill -9 of the update knows what it finds.

export interface UpdateOptions extends Source {
  config: string | undefined;
}

const ASK_VERSION_MS = 20_000;
const SAID_MAX = 2_000;

export async function update(options: UpdateOptions, terminal: Terminal): Promise<void> {
  const binary = ownBinary();
  const configFile = configFileOf(options.config, terminal.env);
  const config = readConfig(configFile, terminal.env);
  const { dataDir } = config;
  const lock = takeLock(dataDir, "command", "update.lock");
  if (lock.kind === "held") throw updateUnderWay(lock.pid);
  const draft = `${binary}.new`;
  try {
    terminal.outliveSession();
    void terminal
      .stopSignal()
      .then(() =>
        terminal.err("An update ends by itself. A second signal breaks it off; the next start puts that right."),
      );
    const sha256 = await bringExecutable({ from: options.from, sha256: options.sha256 }, draft);
    if (sha256 === (await sha256Of(binary))) return terminal.out(`${binary} is this executable already.`);
    const next = await askVersion(draft);
    if (!existsSync(databaseFile(dataDir))) return replaceOnly(binary, draft, next, terminal);
    await updateInstance({ binary, draft, configFile, sha256, next }, config, terminal);
  } finally {
    rmSync(draft, { force: true });
    lock.release();
  }
}

interface Given {
  binary: string;
  draft: string;
  configFile: string;
  sha256: string;
  next: VersionRecord;
}

async function updateInstance(given: Given, config: Config, terminal: Terminal): Promise<void> {
  const { binary, next, sha256 } = given;
  const { dataDir } = config;
  const database = databaseFile(dataDir);
  requireRoom(config, database);
  const schema = readSchema(database);
  if (schema > next.schema)
    throw new CommandError(
      `pombo ${nameOf(next)} is older than the database (schema ${schema}; it knows ${next.schema}): it would refuse it. Nothing was changed.`,
    );
  const running = await findRunning(dataDir, binary, systemClock);
  const left = await takeOver({ binary, dataDir, database }, running);
  const unit = running?.unit ?? unitNamed(left?.unit ?? null);
  const journal = {
    id: newId(systemClock.now(), systemRandom),
    stage: "stopping" as const,
    sha256,
    from: nameOf(versionRecord()),
    to: nameOf(next),
    unit: unit?.name ?? null,
  };
  const { env } = terminal;
  const say = (text: string) => terminal.out(text);
  await runUpdate({ ...given, dataDir, database, journal, running, unit, env, clock: systemClock, say });
}

/** What an update left that was cut off is settled as a start would; its journal, or null. */
async function takeOver(
  { binary, dataDir, database }: Pick<Update, "binary" | "dataDir" | "database">,
  running: Running | null,
): Promise<Journal | null> {
  const left = readJournal(dataDir);
  // What runs has settled it at its start, or is what that update was about to stop.
  if (left === null || running !== null) return left;
  const lock = takeLock(dataDir, "command");
  if (lock.kind === "held") throw new CommandError("pombo has just been started: run this again.");
  try {
    await settle(left, (await sha256Of(binary)) === left.sha256, {
      dataDir,
      databaseFile: database,
      endDaemon: () => endDaemonOf(dataDir, database, systemClock),
    });
  } finally {
    lock.release();
  }
  return left;
}

/** Throws CommandError when it is no pombo. */
function askVersion(draft: string): Promise<VersionRecord> {
  return new Promise((resolve, reject) => {
    const child = spawn(draft, ["version", "--json"], { env: {}, stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    const cancel = systemClock.after(ASK_VERSION_MS, () => child.kill("SIGKILL"));
    const fail = (why: string) => reject(new CommandError(`What was given is no pombo (${why}). Nothing was changed.`));
    child.stdout?.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(0, SAID_MAX)));
    child.on("error", (error) => fail(error.message));
    child.on("close", () => {
      cancel();
      try {
        const record = JSON.parse(said) as Partial<VersionRecord>;
        const { version, commit, schema } = record;
        if (typeof version !== "string" || typeof commit !== "string" || typeof schema !== "number") throw new Error();
        resolve(record as VersionRecord);
      } catch {
        fail("it does not tell its version: it may be cut off, or be for another platform");
      }
    });
  });
}

/** Nothing was set up yet. */
function replaceOnly(binary: string, draft: string, next: VersionRecord, terminal: Terminal): void {
  renameSync(draft, binary);
  syncFolderOf(binary);
  terminal.out(`pombo ${nameOf(next)} is in its place: ${binary}.`);
}

function requireRoom({ dataDir, disk }: Config, database: string): void {
  const { bavail, bsize } = statfsSync(dataDir);
  // The copy of the last update goes first.
  const freeBytes = bavail * bsize + databaseBytes(snapshotFile(dataDir));
  const neededBytes = databaseBytes(database) + disk.minFreeBytes;
  if (freeBytes >= neededBytes) return;
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024);
  throw new CommandError(
    `${dataDir} has ${mebibytes(freeBytes)} MiB free, and a copy of the database beside [disk] min_free takes ${mebibytes(neededBytes)}. Make room, then run this again; nothing was changed.`,
  );
}

/** Throws CommandError when this is a run from source. */
function ownBinary(): string {
  if (!import.meta.path.startsWith("/$bunfs/"))
    throw new CommandError(
      "This pombo runs from source: update the checkout instead. pombo update replaces an executable.",
    );
  return realpathSync(process.execPath);
}
