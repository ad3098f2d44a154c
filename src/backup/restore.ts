import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../platform/environment.ts";
import { lockHeld } from "../platform/instance-lock.ts";
import type { Config } from "../config/config.ts";
import { type Contents, contentsOf, doubtWaiting, schemaOf } from "../platform/db/inspect-file.ts";
import { MIGRATIONS } from "../platform/db/schema/migrations.ts";
import { closeDatabase, type Db, openDatabase } from "../platform/db/open.ts";
import { databaseBytes, putDatabaseBack } from "../platform/db/snapshot.ts";
import { generateKeyPairs } from "../protocols/dkim/keys.ts";
import { openDomainStore } from "../modules/domains/store.ts";
import { StartError } from "../platform/errors.ts";
import { databaseFile } from "../platform/db/open.ts";
import { newId } from "../platform/uuid.ts";
import { readKeyOf, writeInstanceKey } from "../platform/keyring/key-file.ts";
import { createInstanceKey, openKeyring, parseInstanceKey } from "../platform/keyring/keyring.ts";
import { controlBy } from "./litestream/control.ts";
import { type Mark, readMark, writeMarker } from "./litestream/marker.ts";
import { endOrphan } from "./litestream/orphan.ts";
import type { Owner } from "./litestream/replica-owner.ts";
import { bringFromReplica, lookAtReplica, ownerOfReplica } from "./litestream/replica.ts";
import { type DaemonTools, openTools } from "./litestream/tools.ts";
import { takeLock } from "../platform/instance-lock.ts";
import { pauseFact } from "../platform/queue/delivery-pause.ts";
import { type Rekeyed, rekey } from "./rekey.ts";
import { forgetPutBack } from "../platform/update/recover.ts";
import { openWebhookStore } from "../modules/webhooks/store.ts";
import { openInstanceSettings } from "../platform/db/instance-settings.ts";

// Brings the database back from its replica, into a data directory that has none. All is made ready in a folder
// of its own: the copy is checked, the key compared with it, and delivery paused in it; renaming it into its place
// is the last step. So whatever cuts it off leaves no database, or a whole one that sends nothing by itself.

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
  contents: Contents;
  /** What is in the queue was queued before this, Unix ms. */
  restorePoint: number;
  /** The last change that came back, Unix ms. */
  at: number;
  /** Who wrote to the replica and has not said that it ended; `isSeen`: it has written while this ran. */
  mayRun: (Owner & { isSeen: boolean }) | null;
  /** Null: the key is as it was. */
  newKey: (Rekeyed & { recoveryKey: string }) | null;
}

const LOOK_LIMIT_MS = 60_000;
const DRAFTS = "restoring-";
/** What makes a data directory one that is in use, or that an update has left. */
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
  await endOrphan(tools, controlBy(tools.places.socket), environment.clock);
  const found = await lookFor(tools, config.replication.url ?? "", at);
  const owner = await ownerOfReplica(tools, LOOK_LIMIT_MS).catch(() => null);
  for (const name of readdirSync(dataDir)) {
    // Of a restore that was cut off; what its daemon may still write there goes nowhere.
    if (name.startsWith(DRAFTS)) rmSync(join(dataDir, name), { recursive: true, force: true });
  }
  const folder = join(dataDir, `${DRAFTS}${newId(environment.clock.now(), environment.random)}`);
  mkdirSync(folder, { mode: 0o700 });
  try {
    const draft = join(folder, "pombo.db");
    const reason = await bringFromReplica(tools, draft, { at, how: "quick" });
    if (reason !== null) throw new StartError(`The backup could not be brought back: ${reason}. Nothing was changed.`);
    chmodSync(draft, 0o600);
    const made = await makeReady(draft, { at: found.at, owner }, options);
    for (const beside of [tools.places.state, tools.places.ownerState])
      rmSync(beside, { recursive: true, force: true });
    for (const end of ["", "-wal", "-shm"]) rmSync(tools.places.owner + end, { force: true });
    // Of an update of the database that was here: with it the start would ask nobody whose the replica is.
    forgetPutBack(dataDir);
    putDatabaseBack(file, draft);
    if (made.mark !== null) writeMarker(dataDir, made.mark);
    const isSeen = await hasGrown(tools, found.transaction);
    return { ...made, at: found.at, mayRun: owner?.endedAt === null ? { ...owner, isSeen } : null };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Found {
  at: number;
  owner: Owner | null;
}

/** The start that wrote to the replica last is one that this database follows: it goes on with that replica. */
function followerOf(mark: Mark | null, owner: Owner | null, instance: string | null): Mark | null {
  if (mark === null || owner === null || owner.instance !== instance) return mark;
  return { ...mark, boots: [owner.boot, ...mark.boots.filter((boot) => boot !== owner.boot)] };
}

/** Checks the copy, pauses delivery in it, and gives it a new key where the old one is lost. */
async function makeReady(draft: string, { at, owner }: Found, options: RestoreOptions) {
  requireSchema(draft);
  const { config, environment, recoveryKey, isKeyOfEnvironment } = options;
  const { clock, random } = environment;
  const db = openDatabase(draft);
  try {
    const keyText = recoveryKey ?? createInstanceKey(random);
    const keyring = openKeyring(keyOf(keyText), random);
    const settings = openInstanceSettings(db);
    if (recoveryKey !== null && keyring.checkValue() !== settings.get("key_check")) throw wrongKey();
    const contents = contentsOf(db.sqlite);
    const restorePoint = Math.max(at, (contents.newestWaitingAt ?? 0) + 1);
    const now = clock.now();
    const stores = { domains: openDomainStore(db), webhooks: openWebhookStore(db) };
    const rekeyed =
      recoveryKey === null ? await rekey(keyring, { ...stores, db, clock, random, makeKeys: generateKeyPairs }) : null;
    const mark = followerOf(readMark(settings.get("marker")), owner, settings.get("instance_id"));
    db.sqlite.transaction(() => {
      const reason = `the database was restored as it was at ${timeOf(at)}: what was delivered since would be sent again.`;
      settings.set("delivery_paused", pauseFact({ reason, since: now, restorePoint }));
      settings.set("key_check", keyring.checkValue());
      if (mark !== null) settings.set("marker", JSON.stringify(mark));
      doubtWaiting(db.sqlite);
    })();
    if (!isKeyOfEnvironment && !existsSync(config.secrets.instanceKeyFile))
      writeInstanceKey(config.secrets.instanceKeyFile, keyText);
    return { contents, restorePoint, mark, newKey: rekeyed === null ? null : { ...rekeyed, recoveryKey: keyText } };
  } finally {
    closeWhole(db, draft);
  }
}

/** The file alone is the database then. */
function closeWhole(db: Db, file: string): void {
  closeDatabase(db);
  if (databaseBytes(file) === statSync(file).size) return;
  throw new StartError("The restored database could not be written: see that the disk has room. Nothing was changed.");
}

/** Whether somebody writes to the replica. */
async function hasGrown(tools: DaemonTools, transaction: number): Promise<boolean> {
  const look = await lookAtReplica(tools, { limitMs: LOOK_LIMIT_MS });
  return look.kind === "backup" && look.transaction > transaction;
}

/** When the last change was made of what is there (until `at`), Unix ms; and the number of the very last one. */
async function lookFor(tools: DaemonTools, url: string, at: number | null) {
  const look = await lookAtReplica(tools, { limitMs: LOOK_LIMIT_MS, time: at });
  if (look.kind === "backup") {
    const whole = at === null ? look : await lookAtReplica(tools, { limitMs: LOOK_LIMIT_MS });
    return { at: look.at, transaction: whole.kind === "backup" ? whole.transaction : look.transaction };
  }
  if (look.kind === "unreachable") {
    throw new StartError(
      `The replica at ${url} cannot be read: ${look.reason}. See that it is reachable from here, and that the keys for it are right ([replication], or POMBO_REPLICATION_ACCESS_KEY_ID and POMBO_REPLICATION_SECRET_ACCESS_KEY).`,
    );
  }
  if (look.kind === "broken") {
    throw new StartError(
      `The replica at ${url} cannot be restored to its latest state: ${look.reason}. --at TIME restores an earlier state.`,
    );
  }
  const isThere = at !== null && (await lookAtReplica(tools, { limitMs: LOOK_LIMIT_MS })).kind !== "empty";
  throw new StartError(
    isThere
      ? `The replica at ${url} does not go back as far as ${timeOf(at)} ([replication] retention). Name a later time, or leave --at out.`
      : `The replica at ${url} holds no backup. See that this is the url of the [replication] that is to be restored, to its last letter.`,
  );
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
  if (recoveryKey !== null && Buffer.from(keyOf(recoveryKey)).equals(Buffer.from(readKeyOf(file)))) return;
  throw new StartError(`${file} holds another instance key, which is never overwritten: move it away first.`);
}

function requireSchema(draft: string): void {
  const { kind, version } = schemaOf(draft);
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
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `The data directory ${directory} cannot be made (${reason}). Name another, or make it as root and give it to this user.`,
    );
  }
}

function keyOf(text: string): Uint8Array {
  const parsed = parseInstanceKey(text);
  if (parsed.kind === "key") return parsed.key;
  throw new StartError(`What was given as the recovery key is none. ${parsed.message}`);
}

function wrongKey(): StartError {
  return new StartError(
    "The recovery key is not the one of this backup: nothing was changed. Give the one that pombo init printed when the instance was made; if it is lost, --new-key goes on without it.",
  );
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
