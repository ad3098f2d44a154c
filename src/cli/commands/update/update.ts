import { spawn } from "node:child_process";
import { realpathSync, statfsSync, statSync } from "node:fs";
import { systemClock } from "../../../platform/clock.ts";
import type { Config } from "../../../config/config.ts";
import { getDatabaseBytes, readSchemaVersion } from "../../../platform/db/snapshot.ts";
import { requireDatabaseFile, toStartError } from "../../../platform/db/unusable-file.ts";
import { databaseFile } from "../../../platform/db/open.ts";
import { newId } from "../../../platform/uuid.ts";
import { endOrphanDaemon } from "../../../backup/litestream/daemon-process.ts";
import { takeLock } from "../../../platform/instance-lock.ts";
import { systemRandom } from "../../../platform/random.ts";
import { type Journal, readJournal, snapshotFile } from "../../../platform/update/journal.ts";
import { settle, sha256Of, updateUnderWay } from "../../../platform/update/recover.ts";
import type { Terminal } from "../../framework/terminal.ts";
import { CommandError } from "../../framework/failure.ts";
import { configFileOf, readConfig } from "../../client/settings.ts";
import { become, isRoot, ownerBesideRoot } from "../../client/data-owner.ts";
import { type Hands, localHands, type Running } from "./service.ts";
import { findRunning } from "./instance.ts";
import { HANDS_FOR, serveHands, startHands } from "./remote.ts";
import { runUpdate, type Update } from "./run.ts";
import type { Brought, Source } from "./source.ts";
import { nameOf, versionRecord, type VersionRecord } from "../version.ts";

// `pombo update`: puts another executable in the place of this one. In order: it is brought and checked; the
// running instance ends; the database is copied; the new executable shows that it can run the instance (`serve
// --probe`); it takes the place of this one and is started. Until then, and as long as it has accepted and sent
// nothing, everything goes back by itself when something fails: what was of the old executable is as it was.
// After that nothing goes back: it would lose what was accepted, and send again what was sent. Each stage is in
// a journal (platform/update), so that a start after a crash or kill -9 of the update knows what it finds.

export interface UpdateOptions extends Source {
  config: string | undefined;
}

const ASK_VERSION_MS = 20_000;
const SAID_MAX = 2_000;

export async function update(options: UpdateOptions, terminal: Terminal): Promise<void> {
  const binary = ownBinary();
  const { env } = terminal;
  const handsFor = (uid: number) => localHands({ binary, source: options, uid, env });
  const asked = env[HANDS_FOR];
  if (asked !== undefined) return serveHands(handsFor(Number(asked)), terminal);
  const configFile = configFileOf(options.config, env);
  requireRootsConfig(configFile);
  const config = readConfig(configFile, env);
  const { dataDir } = config;
  const owner = ownerBesideRoot(dataDir);
  const hands = owner === null ? handsFor(process.geteuid?.() ?? 0) : startHands(binary, owner, terminal);
  if (owner !== null) become(owner);
  try {
    const lock = takeLock(dataDir, "command", "update.lock");
    if (lock.kind === "held") throw updateUnderWay(lock.pid);
    try {
      await updateLocked({ binary, configFile, hands }, config, terminal);
    } finally {
      lock.release();
    }
  } finally {
    await hands.end();
  }
}

interface Given {
  binary: string;
  configFile: string;
  hands: Hands;
}

async function updateLocked(given: Given, config: Config, terminal: Terminal): Promise<void> {
  const { binary, hands } = given;
  terminal.outliveSession();
  void terminal
    .stopSignal()
    .then(() =>
      terminal.err("The update goes on to its end. A second signal stops it at once; the next start repairs that."),
    );
  const brought = await hands.bring();
  if (brought === null) return terminal.out(`${binary} is this executable already.`);
  const next = await askVersion(brought);
  const database = databaseFile(config.dataDir);
  try {
    if (requireDatabaseFile(database)) return await updateInstance({ ...given, brought, next }, config, terminal);
  } catch (error) {
    throw toStartError(error, database) ?? error;
  }
  // Nothing was set up yet.
  await hands.replace();
  terminal.out(`pombo ${nameOf(next)} is in its place: ${binary}.`);
}

async function updateInstance(
  { brought, next, ...given }: Given & { brought: Brought; next: VersionRecord },
  config: Config,
  terminal: Terminal,
): Promise<void> {
  const { binary, hands } = given;
  const { dataDir } = config;
  const database = databaseFile(dataDir);
  requireRoom(config, database);
  const schema = readSchemaVersion(database);
  if (schema > next.schema)
    throw new CommandError(
      `pombo ${nameOf(next)} is older than the database (schema ${schema}; it knows ${next.schema}): it would refuse it. Nothing was changed.`,
    );
  const running = await findRunning(dataDir, hands, systemClock);
  const left = await takeOver({ binary, dataDir, database }, running);
  const isAdopted = running === null && typeof left?.unit === "string" && (await hands.adopt(left.unit));
  const unit = running?.unit ?? (isAdopted ? left.unit : null);
  const { draft, sha256 } = brought;
  const journal = {
    id: newId(systemClock.now(), systemRandom),
    stage: "stopping" as const,
    sha256,
    from: nameOf(versionRecord()),
    to: nameOf(next),
    unit,
  };
  const { env } = terminal;
  const say = (text: string) => terminal.out(text);
  await runUpdate({ ...given, draft, dataDir, database, journal, running, unit, env, clock: systemClock, say });
}

/** It says which folder root goes to. */
function requireRootsConfig(file: string): void {
  if (!isRoot() || statSync(file, { throwIfNoEntry: false })?.uid === 0) return;
  throw new CommandError(
    `${file} does not belong to root, and it decides what root does: give it to root (chown root:pombo, chmod 640), or run the update as its owner. Nothing was changed.`,
  );
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
      endDaemon: () => endOrphanDaemon(dataDir, database, systemClock),
    });
  } finally {
    lock.release();
  }
  return left;
}

/** Throws CommandError when it is no pombo, or not the one that its signature speaks of. */
async function askVersion({ draft, version }: Brought): Promise<VersionRecord> {
  const record = await readVersion(draft);
  if (version === null || record.version === version) return record;
  throw new CommandError(
    `The signature is for pombo ${version}, but the executable says that it is ${record.version}. Nothing was changed.`,
  );
}

function readVersion(draft: string): Promise<VersionRecord> {
  return new Promise((resolve, reject) => {
    const child = spawn(draft, ["version", "--json"], {
      env: {},
      // As the probe (run.ts).
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
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

function requireRoom({ dataDir, disk }: Config, database: string): void {
  const { bavail, bsize } = statfsSync(dataDir);
  // The copy of the last update goes first.
  const freeBytes = bavail * bsize + getDatabaseBytes(snapshotFile(dataDir));
  const neededBytes = getDatabaseBytes(database) + disk.minFreeBytes;
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
