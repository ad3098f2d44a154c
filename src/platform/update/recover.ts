// Handles an update's journal that a start finds. While the update lives it alone decides who may open the
// database: its own probe, and the new executable once it is to start. One that was cut off is settled here, by
// what is certain: before the new executable was started for real nobody accepted or sent a thing, so the copy can
// go back; after that the database itself says whether it was changed.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSetting } from "../db/instance-settings.ts";
import { putDatabaseBack, syncFolder } from "../db/file/snapshot.ts";
import { StartError } from "../errors.ts";
import type { Log } from "../log.ts";
import { type Journal, readJournal, removeJournal, snapshotFile } from "./journal.ts";

/** What became of an update that was cut off. */
export type UpdateOutcome =
  /** Nothing had been changed, or the new executable goes on with what it has. */
  | "forward"
  /** The database is the one of before. */
  | "back"
  /** The new executable had accepted or sent something: its database stays. */
  | "kept";

interface PutBackDeps {
  dataDir: string;
  databaseFile: string;
  /** Ends a replicating daemon that outlived the pombo which started it. */
  endDaemon: () => Promise<unknown>;
}

export interface StartingDeps extends PutBackDeps {
  /** Takes the lock that an update holds from its beginning to its end. */
  takeUpdateLock: () => { kind: "locked"; release(): void } | { kind: "held"; pid: number | null };
  log: Log;
  /** The update whose probe this is; null: it is another start. */
  updateId: string | null;
  /** SHA-256 of the executable that starts. */
  ownSha256: () => Promise<string>;
}

/** Before the database is opened, with the directory's lock held. Throws StartError while an update forbids it. */
export async function settleUpdate(deps: StartingDeps): Promise<UpdateOutcome | null> {
  const { dataDir, log, updateId } = deps;
  const journal = readJournal(dataDir);
  if (updateId !== null) {
    if (journal?.id === updateId && journal.stage === "probing") return null;
    // Its update was killed, and a start has settled that: to migrate now would change what runs again.
    throw new StartError("The update that this probe belongs to is over. Nothing was done.");
  }
  if (journal === null) return null;
  const isNew = (await deps.ownSha256()) === journal.sha256;
  const lock = deps.takeUpdateLock();
  if (lock.kind === "held") {
    if (journal.stage === "starting" && isNew) return null;
    throw updateUnderWay(lock.pid);
  }
  try {
    const settled = await settle(journal, isNew, deps);
    log.event(
      "update.completed",
      { stage: journal.stage, from: journal.from, to: journal.to, outcome: settled },
      "warn",
    );
    return settled;
  } finally {
    lock.release();
  }
}

/** Settles what a dead update left; the caller holds both locks. */
export async function settle(journal: Journal, isNew: boolean, deps: PutBackDeps): Promise<UpdateOutcome> {
  const { dataDir, databaseFile } = deps;
  const outcome = decideOutcome(journal, isNew, databaseFile);
  if (outcome === "back") await putBack(deps);
  removeJournal(dataDir);
  return outcome;
}

function decideOutcome({ stage, id }: Journal, isNew: boolean, databaseFile: string): UpdateOutcome {
  switch (stage) {
    case "stopping":
      return "forward";
    case "probing":
      return isNew ? "forward" : "back";
    case "starting":
      if (isNew) return "forward";
      return isUntouched(databaseFile, id) ? "back" : "kept";
    case "going-back":
      return "back";
  }
}

/** Whether nothing was changed since the update's probe. */
export function isUntouched(databaseFile: string, updateId: string): boolean {
  return readSetting(databaseFile, "update_probation") === updateId;
}

/** Puts the database of before in its place; may be done again when it was cut off. */
export async function putBack({ dataDir, databaseFile, endDaemon }: PutBackDeps): Promise<void> {
  // One of a new executable that was killed reads the file that goes, and would write of both to the replica.
  await endDaemon();
  // First: whoever starts on the database of before must find it.
  writeFileSync(putBackFile(dataDir), "", { mode: 0o600 });
  syncFolder(putBackFile(dataDir));
  // The daemon's state stays: it sees by the new log that the file is another, and adds a whole copy to its lineage.
  putDatabaseBack(databaseFile, snapshotFile(dataDir));
}

function putBackFile(dataDir: string): string {
  return join(dataDir, "put-back");
}

/**
 * Whether an update has put this database back: it is behind the file marker and perhaps its replica, which holds
 * starts of the other executable. Since nothing was accepted or sent by that, nothing would be sent again, and the
 * replica is this instance's own.
 */
export function isRolledBack(dataDir: string): boolean {
  return existsSync(putBackFile(dataDir));
}

/** A start has written itself down: from now on a database that is behind is one put back by hand. */
export function clearRollbackMark(dataDir: string): void {
  rmSync(putBackFile(dataDir), { force: true });
}

export function updateUnderWay(pid: number | null): StartError {
  const which = pid === null ? "An update" : `An update (process ${pid})`;
  return new StartError(
    `${which} of this pombo is under way, and starts it itself when it is through. Nothing was done; try again then.`,
  );
}

/** SHA-256 of a file, in hexadecimal digits. */
export async function hashFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}
