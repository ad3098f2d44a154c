// Restores the database from its replica, into a data directory that has none. All is prepared in a folder of its
// own: the copy is checked, the key compared with it, and delivery paused in it; renaming it into its place is the
// last step. So whatever cuts it off leaves no database, or a whole one that sends nothing by itself.

import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../platform/context.ts";
import { lockHeld } from "../platform/instance-lock.ts";
import type { Config } from "../config/config.ts";
import { type DatabaseContents, readContents, readSchemaState } from "../platform/db/file/inspect-file.ts";
import { settleEarlierTime } from "../platform/db/file/earlier-time.ts";
import { MIGRATIONS } from "../platform/db/schema/migrations.ts";
import { closeDatabase, type Db, openDatabase } from "../platform/db/open.ts";
import { getDatabaseBytes, putDatabaseBack } from "../platform/db/file/snapshot.ts";
import { generateKeyPairs } from "../protocols/dkim/keys.ts";
import { openUserStore } from "../modules/accounts/store.ts";
import { openCertificateStore } from "../modules/certificates/store.ts";
import { openDomainStore } from "../modules/domains/store.ts";
import { getErrorMessage, StartError } from "../platform/errors.ts";
import { databaseFile } from "../platform/db/open.ts";
import { newId } from "../platform/uuid.ts";
import { loadInstanceKey, writeInstanceKey } from "../platform/keyring/key-file.ts";
import { createInstanceKey, openKeyring, parseInstanceKey } from "../platform/keyring/keyring.ts";
import { inspectReplica } from "./litestream/catalog.ts";
import { openControl } from "./litestream/control.ts";
import { endOrphan } from "./litestream/daemon-process.ts";
import { type Mark, parseMark, writeMarker } from "./litestream/marker.ts";
import { removeDatabase } from "./litestream/record.ts";
import { type Owner, readOwner, restoreLineage } from "./litestream/replica.ts";
import { type DaemonTools, openTools } from "./litestream/tools.ts";
import { takeLock } from "../platform/instance-lock.ts";
import { formatPause } from "../platform/queue/delivery-pause.ts";
import { type Rekeyed, rekey } from "./rekey.ts";
import { clearRollbackMark } from "../platform/update/recover.ts";
import { openWebhookStore } from "../modules/webhooks/store.ts";
import { openInstanceSettings } from "../platform/db/instance-settings.ts";

export interface RestoreOptions {
  /** `replication.url` is where it comes from. */
  config: Config;
  /** As it was at this time, Unix ms; null: as it was last. */
  at: number | null;
  /** The recovery key as text; null: it is lost, and a new one is made. */
  recoveryKey: string | null;
  /** Whether the key comes from the environment at each start, and stands in no file. */
  isKeyOfEnvironment: boolean;
  environment: Environment;
}

export interface Restored {
  contents: DatabaseContents;
  /** What is in the queue was queued before this, Unix ms. */
  restorePoint: number;
  /** The last change that came back, Unix ms. */
  at: number;
  /** Who wrote to the replica and has not said that it ended; `isSeen`: it has written while this ran. */
  mayRun: (Owner & { isSeen: boolean }) | null;
  /** Null: the key is as it was. */
  newKey: (Rekeyed & { recoveryKey: string }) | null;
}

const INSPECT_LIMIT_MS = 60_000;
const DRAFTS = "restoring-";
/** A data directory with one of these is in use, or an update has left it. */
const IN_USE = ["", "-wal", "-shm", "-journal", ".before-update"].map((end) => `pombo.db${end}`);

/** Restores into `config.dataDir`. Throws StartError with the cure; then nothing was put in place. */
export async function restoreInstance(options: RestoreOptions): Promise<Restored> {
  const { dataDir } = options.config;
  makeDirectory(dataDir);
  const lock = takeLock(dataDir);
  if (lock.kind === "held") throw new StartError(lockHeld(dataDir, lock.pid));
  try {
    requireEmpty(dataDir);
    return await restoreLocked(options);
  } finally {
    lock.release();
  }
}

async function restoreLocked(options: RestoreOptions): Promise<Restored> {
  const { config, environment, at } = options;
  const { dataDir } = config;
  requireFreeKeyFile(options);
  const file = databaseFile(dataDir);
  const tools = await openTools(config.replication, { dataDir, database: file });
  await endOrphan(tools, openControl(tools.places.socket), environment.clock);
  const found = await findBackup(tools, config.replication.url ?? "", at);
  const owner = await readOwner(tools, found.lineages, INSPECT_LIMIT_MS).catch(() => null);
  removeDrafts(dataDir);
  const folder = join(dataDir, `${DRAFTS}${newId(environment.clock.now(), environment.random)}`);
  mkdirSync(folder, { mode: 0o700 });
  try {
    const draft = join(folder, "pombo.db");
    const reason = await restoreLineage(tools, found.lineage, { to: draft, at, how: "quick" });
    if (reason !== null) throw new StartError(`The backup could not be restored: ${reason}. Nothing was changed.`);
    chmodSync(draft, 0o600);
    const made = await prepareCopy(draft, { at: found.at, owner }, options);
    // Without it the daemon begins a lineage of its own: what this database does next is not what the replica holds.
    rmSync(tools.places.lineages, { recursive: true, force: true });
    removeDatabase(tools.places.owner);
    // Left by an update of the database that was here: with it the start would not check whose the replica is.
    clearRollbackMark(dataDir);
    putDatabaseBack(file, draft);
    if (made.mark !== null) writeMarker(dataDir, made.mark);
    const isSeen = await hasGrown(tools, found);
    return { ...made, at: found.at, mayRun: owner?.endedAt === null ? { ...owner, isSeen } : null };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Brings the database of a lineage into `config.dataDir` for the node that has just taken the lease: all
 * that was promised is in it, so it goes on as after a crash, without a pause. Throws StartError; then nothing was put in place.
 *
 * Nothing here opens the draft. A connection that is closed while a statement of it is left lives on, and its file has the
 * shared memory of its old place under every name: Litestream, which has that of the new one, would see no change any more.
 */
export async function restoreForTerm(given: {
  config: Config;
  environment: Environment;
  tools: DaemonTools;
  lineage: string;
  /** Called when the new one is there, before it is put in place. */
  makeRoom: () => void;
}): Promise<void> {
  const { config, environment, tools, lineage, makeRoom } = given;
  const { dataDir } = config;
  removeDrafts(dataDir);
  const folder = join(dataDir, `${DRAFTS}${newId(environment.clock.now(), environment.random)}`);
  mkdirSync(folder, { mode: 0o700 });
  try {
    const draft = join(folder, "pombo.db");
    const reason = await restoreLineage(tools, lineage, { to: draft, how: "quick" });
    if (reason !== null) throw new StartError(`The replica could not be restored: ${reason}. It is tried again.`);
    chmodSync(draft, 0o600);
    makeRoom();
    clearRollbackMark(dataDir);
    putDatabaseBack(databaseFile(dataDir), draft);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Left by a restore that was cut off; its daemon may still write there, to no effect. */
function removeDrafts(dataDir: string): void {
  for (const name of readdirSync(dataDir))
    if (name.startsWith(DRAFTS)) rmSync(join(dataDir, name), { recursive: true, force: true });
}

/** Counts the start that wrote to the replica last among this database's own, so that it may go on with the replica. */
function followOwner(mark: Mark | null, owner: Owner | null, instance: string | null): Mark | null {
  if (mark === null || owner === null || owner.instance !== instance) return mark;
  return { ...mark, boots: [owner.boot, ...mark.boots.filter((boot) => boot !== owner.boot)] };
}

/** Checks the copy, pauses delivery in it, and gives it a new key where the old one is lost. */
async function prepareCopy(draft: string, { at, owner }: { at: number; owner: Owner | null }, options: RestoreOptions) {
  requireSchema(draft);
  const { config, environment, recoveryKey, isKeyOfEnvironment } = options;
  const { clock, random } = environment;
  const db = openDatabase(draft);
  try {
    const keyText = recoveryKey ?? createInstanceKey(random);
    const keyring = openKeyring(parseKey(keyText), random);
    const settings = openInstanceSettings(db);
    if (recoveryKey !== null && keyring.checkValue() !== settings.get("key_check")) throw wrongKey();
    const contents = readContents(db.sqlite);
    const restorePoint = Math.max(at, (contents.newestWaitingAt ?? 0) + 1);
    const now = clock.now();
    const isKeyInPlace = isKeyOfEnvironment || existsSync(config.secrets.instanceKeyFile);
    const stores = {
      certificates: openCertificateStore(db, settings),
      domains: openDomainStore(db),
      webhooks: openWebhookStore(db),
      users: openUserStore(db),
    };
    const rekeyed =
      recoveryKey === null ? await rekey(keyring, { ...stores, db, clock, random, makeKeys: generateKeyPairs }) : null;
    const mark = followOwner(parseMark(settings.get("marker")), owner, settings.get("instance_id"));
    db.sqlite.transaction(() => {
      const reason = `the database was restored as it was at ${formatTime(at)}: what was delivered since would be sent again.`;
      settings.set("delivery_paused", formatPause({ reason, since: now, restorePoint }));
      settings.set("key_check", keyring.checkValue());
      // A new key is to be kept anew. Who brought the key to a machine without it keeps it.
      if (recoveryKey === null) settings.set("recovery_key_checked", "");
      else if (!isKeyInPlace) settings.set("recovery_key_checked", String(now));
      if (mark !== null) settings.set("marker", JSON.stringify(mark));
      settleEarlierTime(db.sqlite, now);
    })();
    if (!isKeyInPlace) writeInstanceKey(config.secrets.instanceKeyFile, keyText);
    return { contents, restorePoint, mark, newKey: rekeyed === null ? null : { ...rekeyed, recoveryKey: keyText } };
  } finally {
    closeWhole(db, draft);
  }
}

/** Then the database is in this file only. */
function closeWhole(db: Db, file: string): void {
  closeDatabase(db);
  if (getDatabaseBytes(file) === statSync(file).size) return;
  throw new StartError("The restored database could not be written: see that the disk has room. Nothing was changed.");
}

/** Whether somebody writes to the replica. */
async function hasGrown(tools: DaemonTools, found: { lineages: unknown[]; transaction: number }): Promise<boolean> {
  const { replica, lineages } = await inspectReplica(tools, { limitMs: INSPECT_LIMIT_MS });
  return (
    lineages.length > found.lineages.length || (replica.kind === "backup" && replica.transaction > found.transaction)
  );
}

/** The lineage to restore, when its last change (until `at`) was made, Unix ms, and the number of its very last one. */
async function findBackup(tools: DaemonTools, url: string, at: number | null) {
  const latest = await inspectReplica(tools, { limitMs: INSPECT_LIMIT_MS });
  const { lineages } = latest;
  const { replica } = at === null ? latest : await inspectReplica(tools, { limitMs: INSPECT_LIMIT_MS, time: at });
  switch (replica.kind) {
    case "backup": {
      const last = latest.replica.kind === "backup" ? latest.replica : replica;
      return { ...replica, lineages, transaction: last.transaction };
    }
    case "unreachable":
      throw new StartError(
        `The replica at ${url} cannot be read: ${replica.reason}. See that it is reachable from here, and that the keys for it are right ([replication], or POMBO_REPLICATION_ACCESS_KEY_ID and POMBO_REPLICATION_SECRET_ACCESS_KEY).`,
      );
    case "broken":
      throw new StartError(
        `The replica at ${url} cannot be restored to its latest state: ${replica.reason}. --at TIME restores an earlier state.`,
      );
    case "empty":
      throw new StartError(
        at !== null && latest.replica.kind !== "empty"
          ? `The replica at ${url} does not go back as far as ${formatTime(at)} ([replication] retention). Name a later time, or leave --at out.`
          : `The replica at ${url} holds no backup. See that this is the url of the [replication] that is to be restored, to its last letter.`,
      );
  }
}

function requireEmpty(dataDir: string): void {
  const found = [...IN_USE, "update.json"].filter((name) => existsSync(join(dataDir, name)));
  if (found.length === 0) return;
  throw new StartError(
    `${dataDir} holds a database already (${found.join(", ")}), and a restore never overwrites one. Move these away, or restore into another data_dir.`,
  );
}

/** Before anything is fetched: a key that stands there belongs to some database. */
function requireFreeKeyFile({ config, recoveryKey, isKeyOfEnvironment }: RestoreOptions): void {
  const { instanceKeyFile: file } = config.secrets;
  if (isKeyOfEnvironment || !existsSync(file)) return;
  if (
    recoveryKey !== null &&
    Buffer.from(parseKey(recoveryKey)).equals(Buffer.from(loadInstanceKey({ file, env: {} })))
  )
    return;
  throw new StartError(`${file} holds another instance key, which is never overwritten: move it away first.`);
}

function requireSchema(draft: string): void {
  const { kind, version } = readSchemaState(draft);
  if (kind === "usable") return;
  const words = {
    newer: `was written by a newer pombo (schema ${version}; this one knows ${MIGRATIONS.length}): restore it with that one`,
    foreign: "was written by a build of pombo that was never released: restore it with that one",
    none: "is no database of pombo's",
  }[kind];
  throw new StartError(`The backup ${words}. Nothing was changed.`);
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StartError(
      `The data directory ${directory} cannot be made (${getErrorMessage(error)}). Name another, or make it as root and give it to this user.`,
    );
  }
}

function parseKey(text: string): Uint8Array {
  const parsed = parseInstanceKey(text);
  if (parsed.kind === "key") return parsed.key;
  throw new StartError(`The recovery key that was given is none. ${parsed.message}`);
}

function wrongKey(): StartError {
  return new StartError(
    "The recovery key is not the one of this backup: nothing was changed. Give the one that pombo init printed when the instance was made; if it is lost, --new-key goes on without it.",
  );
}

function formatTime(at: number): string {
  return new Date(at).toISOString();
}
