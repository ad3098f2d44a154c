// Whether this executable can run the instance of a data directory, found out without running it: no listener, no
// sending, no call, no link, no replication. In order: the migrations, every part built and asked for something, a
// thread of its own, the replicating daemon where one is wanted, a signing key unsealed, a write. Throws at the first that fails; StartError where a person can mend it.

import { lockHeld } from "../platform/instance-lock.ts";
import { start } from "./server.ts";
import type { AppOptions } from "./app.ts";
import type { Clock } from "../platform/clock.ts";
import { closeDatabase, openDatabase } from "../platform/db/open.ts";
import { openKeychain } from "../modules/domains/signing-keys.ts";
import { StartError } from "../platform/errors.ts";
import { databaseFile } from "../platform/db/open.ts";
import { openCore } from "./core.ts";
import { openTools } from "../backup/litestream/tools.ts";
import { type Lock, takeLock } from "../platform/instance-lock.ts";
import { openThread } from "./start-mail-worker.ts";
import { isReplicated } from "../backup/replication.ts";
import { prepareAtOnce } from "../platform/db/statement.ts";
import { ThreadClient } from "../platform/worker-threads/worker-thread.ts";

/** One who only looks whether it may start has the lock for a moment. */
const LOCK_PATIENCE_MS = 10_000;
const AGAIN_MS = 50;
/** What a thread may take to start. */
const THREAD_MS = 10_000;

/** Of an update's probe (`updateId`) the last write says so in the database, and its first change takes that away. */
export async function probeInstance(options: AppOptions): Promise<void> {
  const { dataDir } = options.config;
  const lock = await waitForLock(dataDir, options.environment.clock);
  if (lock.kind === "held") throw new StartError(lockHeld(dataDir, lock.pid));
  try {
    await buildParts(options);
    await askThread(options.environment.clock);
    await openReplicator(options);
    await unsealAndWrite(options);
  } finally {
    lock.release();
  }
}

async function waitForLock(dataDir: string, clock: Clock): Promise<Lock> {
  for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
    const lock = takeLock(dataDir, "command");
    if (lock.kind === "locked" || waitedMs >= LOCK_PATIENCE_MS) return lock;
    await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
  }
}

async function buildParts(options: AppOptions): Promise<void> {
  using _all = prepareAtOnce();
  const started = await start(options, "command", () => undefined);
  if (started.kind !== "command") throw new Error("a probe began to act");
  try {
    const response = await started.handle(new Request("http://localhost/api/v1/operator/workspaces?limit=1"));
    if (!response.ok) throw new Error(`the workspaces cannot be read: ${response.status} ${await response.text()}`);
  } finally {
    await started.close();
  }
}

async function askThread(clock: Clock): Promise<void> {
  let why = "it did not answer";
  const line = new ThreadClient<object, unknown>({ open: openThread, report: (reason) => (why = reason) });
  // Closing it fails the call. A waiting thread alone does not keep a process alive, this does.
  const cancel = clock.after(THREAD_MS, () => line.close());
  try {
    await line.call({ html: "<p>A probe</p>", text: undefined });
  } catch (error) {
    throw new Error(`a thread of this executable cannot be used: ${why}`, { cause: error });
  } finally {
    cancel();
    line.close();
  }
}

/** The daemon alone: nothing is asked of the replica, which is not this executable's. */
async function openReplicator({ config }: AppOptions): Promise<void> {
  const { dataDir, replication } = config;
  if (replication.url !== null) await openTools(replication, { dataDir, database: databaseFile(dataDir) });
}

async function unsealAndWrite(options: AppOptions): Promise<void> {
  const { clock } = options.environment;
  const replicated = { isReplicated: isReplicated(options.config) };
  const db = openDatabase(databaseFile(options.config.dataDir), replicated);
  try {
    const { stores, keyring, committer, guard } = openCore(options, db, { logSync: null, isReplicating: false });
    void guard.stop();
    const [domain] = stores.domains.listEverywhere(null, null, 1);
    if (domain !== undefined) openKeychain(stores.domains, keyring).keysFor(domain);
    const { updateId = null } = options;
    await committer.commit(() => stores.settings.set("last_write", `${clock.now()} probe`));
    // Alone and last: the first change after this one ends the probation.
    if (updateId !== null) await committer.commit(() => stores.settings.set("update_probation", updateId));
  } finally {
    closeDatabase(db, replicated);
  }
}
