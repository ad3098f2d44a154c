// `pombo update` replaces this executable. In order: the new one is fetched and checked; the running instance is
// stopped; the database is copied; the new executable is tested on the instance (`serve --probe`), put in place and
// started. Until it has accepted or sent something, any failure restores the old executable and database. After that
// nothing is rolled back, which would lose accepted messages and send others twice. A journal (platform/update) holds
// the current stage, so that the next start after a crash or kill -9 of the update knows what to do.

import { realpathSync, statfsSync, statSync } from "node:fs";
import { systemClock } from "../../../platform/clock.ts";
import type { Config } from "../../../config/config.ts";
import { getErrorMessage } from "../../../platform/errors.ts";
import { getDatabaseBytes, readSchemaVersion } from "../../../platform/db/file/snapshot.ts";
import { requireDatabaseFile, toStartError } from "../../../platform/db/file/unusable-file.ts";
import { databaseFile } from "../../../platform/db/open.ts";
import { newId } from "../../../platform/uuid.ts";
import { endOrphanDaemon } from "../../../backup/litestream/daemon-process.ts";
import { takeLock } from "../../../platform/instance-lock.ts";
import { systemRandom } from "../../../platform/random.ts";
import { type Journal, readJournal, snapshotFile } from "../../../platform/update/journal.ts";
import { settle, hashFile, updateUnderWay } from "../../../platform/update/recover.ts";
import { type Arguments, type Command, CommandError, type Terminal } from "../../framework/definition.ts";
import { findConfigFile, readConfig } from "../../client/settings.ts";
import { switchUser, isRoot, ownerBesideRoot } from "../../client/data-owner.ts";
import { createHostActions, type Running } from "./service.ts";
import { findRunning, runChild } from "./instance.ts";
import { ACTIONS_FOR, serveHostActions, startRootProcess } from "./remote.ts";
import { runUpdate, type Update } from "./run.ts";
import type { Brought } from "./source.ts";
import { formatVersion, versionRecord, type VersionRecord } from "../version.ts";

const ASK_VERSION_MS = 20_000;

export const update: Command = {
  name: "update",
  arguments: ["FILE|URL"],
  options: {
    sha256: { value: "HEX", about: "its checksum; for a URL, pombo also verifies the signature at URL.minisig" },
    "allow-downgrade": { about: "for a URL: accept an older version too" },
    config: { value: "FILE", about: "the configuration, as for serve" },
  },
  about:
    "Replace this pombo with another one. The new one is tried first; if it fails before it has accepted or sent anything, the old one is put back.",
  run: replaceExecutable,
};

async function replaceExecutable(args: Arguments, terminal: Terminal): Promise<void> {
  const binary = ownBinary();
  const { env } = terminal;
  const from = args.argument("FILE|URL");
  const source = { from, sha256: args.text("sha256"), allowDowngrade: args.isSet("allow-downgrade") };
  const actionsFor = (uid: number) => createHostActions({ binary, source, uid, env });
  const asked = env[ACTIONS_FOR];
  if (asked !== undefined) return serveHostActions(actionsFor(Number(asked)), terminal);
  const configFile = findConfigFile(args.text("config"), env);
  requireRootsConfig(configFile);
  const config = readConfig(configFile, env);
  const { dataDir } = config;
  const owner = ownerBesideRoot(dataDir);
  const host = owner === null ? actionsFor(process.geteuid?.() ?? 0) : startRootProcess(binary, owner, terminal);
  if (owner !== null) switchUser(owner);
  try {
    const lock = takeLock(dataDir, "command", "update.lock");
    if (lock.kind === "held") throw updateUnderWay(lock.pid);
    try {
      await updateLocked({ binary, configFile, host }, config, terminal);
    } finally {
      lock.release();
    }
  } finally {
    await host.end();
  }
}

type Context = Pick<Update, "binary" | "configFile" | "host">;

async function updateLocked(context: Context, config: Config, terminal: Terminal): Promise<void> {
  const { binary, host } = context;
  terminal.outliveSession();
  void terminal
    .stopSignal()
    .then(() =>
      terminal.err("The update continues. A second signal stops it at once; the next start of pombo repairs that."),
    );
  const brought = await host.bring();
  if (brought === null) return terminal.say(`${binary} is already this executable.`);
  const next = await askVersion(brought);
  const database = databaseFile(config.dataDir);
  try {
    if (requireDatabaseFile(database)) return await updateInstance({ ...context, brought, next }, config, terminal);
  } catch (error) {
    throw toStartError(error, database) ?? error;
  }
  // No instance is set up yet.
  await host.replace();
  terminal.say(`pombo ${formatVersion(next)} is installed at ${binary}.`);
}

async function updateInstance(
  { brought, next, ...context }: Context & { brought: Brought; next: VersionRecord },
  config: Config,
  terminal: Terminal,
): Promise<void> {
  const { binary, host } = context;
  const { dataDir } = config;
  const database = databaseFile(dataDir);
  requireRoom(config, database);
  const schema = readSchemaVersion(database);
  if (schema > next.schema)
    throw new CommandError(
      `pombo ${formatVersion(next)} is too old for the database (schema ${schema}; it knows ${next.schema}). Nothing was changed.`,
    );
  const running = await findRunning(dataDir, host, systemClock);
  const left = await settleInterrupted({ binary, dataDir, database }, running);
  const isAdopted = running === null && typeof left?.unit === "string" && (await host.adopt(left.unit));
  const unit = running?.unit ?? (isAdopted ? left.unit : null);
  const { draft, sha256 } = brought;
  const journal = {
    id: newId(systemClock.now(), systemRandom),
    stage: "stopping" as const,
    sha256,
    from: formatVersion(versionRecord()),
    to: formatVersion(next),
    unit,
  };
  const { env } = terminal;
  const say = (text: string) => terminal.say(text);
  await runUpdate({ ...context, draft, dataDir, database, journal, running, unit, env, clock: systemClock, say });
}

function requireRootsConfig(file: string): void {
  if (!isRoot() || statSync(file, { throwIfNoEntry: false })?.uid === 0) return;
  throw new CommandError(
    `${file} decides what root does, but does not belong to root: give it to root (chown root:pombo, chmod 640), or run the update as its owner. Nothing was changed.`,
  );
}

/** Settles an interrupted update as a start would; its journal, or null. */
async function settleInterrupted(
  { binary, dataDir, database }: Pick<Update, "binary" | "dataDir" | "database">,
  running: Running | null,
): Promise<Journal | null> {
  const left = readJournal(dataDir);
  // A running instance has settled it at its start, or is the one that the update was about to stop.
  if (left === null || running !== null) return left;
  const lock = takeLock(dataDir, "command");
  if (lock.kind === "held") throw new CommandError("pombo has just been started: run the command again.");
  try {
    await settle(left, (await hashFile(binary)) === left.sha256, {
      dataDir,
      databaseFile: database,
      endDaemon: () => endOrphanDaemon(dataDir, database, systemClock),
    });
  } finally {
    lock.release();
  }
  return left;
}

/** Throws CommandError if it is not a pombo, or not of the version in its signature. */
async function askVersion({ draft, version }: Brought): Promise<VersionRecord> {
  const record = await readVersion(draft);
  if (version === null || record.version === version) return record;
  throw new CommandError(
    `The signature is for pombo ${version}, but the executable is ${record.version}. Nothing was changed.`,
  );
}

async function readVersion(draft: string): Promise<VersionRecord> {
  const fail = (why: string) => new CommandError(`The file is not a pombo executable (${why}). Nothing was changed.`);
  const options = { env: {}, read: "stdout", limitMs: ASK_VERSION_MS, clock: systemClock } as const;
  const { output } = await runChild(draft, ["version", "--json"], options).catch((error: unknown) => {
    throw fail(getErrorMessage(error));
  });
  try {
    const record = JSON.parse(output) as VersionRecord;
    const { version, commit, schema } = record;
    if (typeof version === "string" && typeof commit === "string" && typeof schema === "number") return record;
  } catch {
    // It is not JSON.
  }
  throw fail("it does not print its version: it may be truncated, or for another platform");
}

function requireRoom({ dataDir, disk }: Config, database: string): void {
  const { bavail, bsize } = statfsSync(dataDir);
  // The copy of the last update is deleted first.
  const freeBytes = bavail * bsize + getDatabaseBytes(snapshotFile(dataDir));
  const neededBytes = getDatabaseBytes(database) + disk.minFreeBytes;
  if (freeBytes >= neededBytes) return;
  const mebibytes = (bytes: number) => Math.ceil(bytes / 1024 / 1024);
  throw new CommandError(
    `${dataDir} has ${mebibytes(freeBytes)} MiB free; a copy of the database and [disk] min_free need ${mebibytes(neededBytes)}. Make room, then run the command again. Nothing was changed.`,
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
