// The steps of a start before it has a database: an update that was cut off is brought to its end, and a directory
// that was never set up is left as it is.

import { findDamageAtStart } from "../platform/db/file/page-damage.ts";
import { getWalBytes, rewriteWal } from "../platform/db/wal.ts";
import { type Db, openDatabase } from "../platform/db/open.ts";
import { FinalStartError, getErrorMessage, StartError } from "../platform/errors.ts";
import { requireDatabaseFile, toStartError } from "../platform/db/file/unusable-file.ts";
import { databaseFile } from "../platform/db/open.ts";
import { type CoreOptions, notSetUp } from "./core.ts";
import { endOrphanDaemon } from "../backup/litestream/daemon-process.ts";
import { takeLock } from "../platform/instance-lock.ts";
import { describeRemedy } from "../platform/db/file/page-check.ts";
import { isReplicated, type ReplicaChoice, requireNoBackup } from "../backup/replication.ts";
import { settleUpdate, hashFile } from "../platform/update/recover.ts";

export interface InstanceOptions extends Pick<CoreOptions, "config" | "environment"> {
  /** The update whose probe this is; default: it is none. */
  updateId?: string | null;
  /** What to do about the replica. */
  replica?: ReplicaChoice;
}

/** Throws StartError. The lock is held. */
export async function openInstance(options: InstanceOptions): Promise<Db> {
  try {
    return await open(options);
  } catch (error) {
    throw toStartError(error, databaseFile(options.config.dataDir)) ?? error;
  }
}

async function open({ config, environment, updateId, replica }: InstanceOptions): Promise<Db> {
  const { dataDir } = config;
  const file = databaseFile(dataDir);
  await settleUpdate({
    dataDir,
    databaseFile: file,
    takeUpdateLock: () => takeLock(dataDir, "command", "update.lock"),
    log: environment.log,
    updateId: updateId ?? null,
    ownSha256: () => hashFile(process.execPath),
    endDaemon: () => endOrphanDaemon(dataDir, file, environment.clock),
  });
  // Opening would make an empty one, which then stands in the way of init.
  if (!requireDatabaseFile(file)) {
    await requireNoBackup(config, file, replica ?? {});
    throw notSetUp(dataDir);
  }
  const isUnclean = getWalBytes(file) > 0;
  if (isUnclean) requireWhole(file, dataDir);
  const db = openDatabase(file, { isReplicated: isReplicated(config) });
  if (isUnclean) settleLog(db, file);
  return db;
}

/** Syncs the log that an earlier run left before anything is built on it. */
function settleLog(db: Db, file: string): void {
  try {
    rewriteWal(db, file);
  } catch (error) {
    db.close();
    throw new StartError(
      `${file}-wal cannot be written to the disk: ${getErrorMessage(error)}. It holds what was accepted last, and nothing may be ` +
        "built on it before it is on the disk. Nothing was accepted or sent. See whether the disk is full, read-only or " +
        "failing (df, journalctl -k), then start pombo again.",
    );
  }
}

/** What a start stands on is read after a crash. From a damaged queue mail would be lost or sent twice, and writing spreads it. */
function requireWhole(file: string, dataDir: string): void {
  const damage = findDamageAtStart(file);
  if (damage.length === 0) return;
  throw new FinalStartError(
    `Pages of the database ${file} are damaged (${damage.join("; ")}). Nothing was accepted or sent. ${describeRemedy(dataDir)}`,
  );
}
