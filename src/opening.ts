import type { AppOptions } from "./app.ts";
import { type Db, openDatabase } from "./db/open.ts";
import { requireDatabaseFile, unusable } from "./db/unusable.ts";
import { databaseFile, notSetUp } from "./ground.ts";
import { endDaemonOf } from "./litestream/orphan.ts";
import { takeLock } from "./lock.ts";
import { isReplicated, requireNoBackup } from "./replicator.ts";
import { settleUpdate, sha256Of } from "./update/settle.ts";

// What a start does before there is a database: an update that was cut off is brought to its end, and a directory
// that was never set up is left as it is.

/** Throws StartError. The lock is held. */
export async function openInstance(options: AppOptions): Promise<Db> {
  try {
    return await open(options);
  } catch (error) {
    throw unusable(error, databaseFile(options.config.dataDir)) ?? error;
  }
}

async function open({ config, edges, updateId, replica }: AppOptions): Promise<Db> {
  const { dataDir } = config;
  const file = databaseFile(dataDir);
  await settleUpdate({
    dataDir,
    databaseFile: file,
    takeUpdateLock: () => takeLock(dataDir, "command", "update.lock"),
    log: edges.log,
    updateId: updateId ?? null,
    ownSha256: () => sha256Of(process.execPath),
    endDaemon: () => endDaemonOf(dataDir, file, edges.clock),
  });
  // Opening would make an empty one, which then stands in the way of init.
  if (!requireDatabaseFile(file)) {
    await requireNoBackup(config, file, replica ?? {});
    throw notSetUp(dataDir);
  }
  return openDatabase(file, { isReplicated: isReplicated(config) });
}
