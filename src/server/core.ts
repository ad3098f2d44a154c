// The core of the composition root: the stores of an open database, the key that unseals it, the one writer and the guard of
// its disk.

import type { Environment } from "../platform/context.ts";
import type { Config } from "../config/config.ts";
import { createReplicaWaits } from "../backup/metrics.ts";
import { ReplicaBarrier } from "../backup/replica-barrier.ts";
import { type Commit, Committer, type CommitterHooks } from "../platform/db/group-commit.ts";
import type { LogSync } from "../platform/db/log-sync.ts";
import { DiskGuard, createFreeSpaceReader } from "../platform/db/disk-guard.ts";
import type { Db } from "../platform/db/open.ts";
import { UpdateProbation } from "../platform/db/update-probation.ts";
import { getErrorMessage, StartError } from "../platform/errors.ts";
import { createBodyBudget, getLargestBody, getPoolBytes, RESERVE_BYTES } from "../platform/http/body/budget.ts";
import type { BodyLimits } from "../platform/http/body/read.ts";
import { type Keyring, openKeyring } from "../platform/keyring/keyring.ts";
import { usableMemory } from "../platform/memory-limit.ts";
import { type Counters, createCounters } from "../platform/metrics/counters.ts";
import { Registry } from "../platform/metrics/registry.ts";
import { DeliveryPause } from "../platform/queue/delivery-pause.ts";
import { CATEGORIES } from "../protocols/smtp/replies/rules.ts";
import { openStores, type Stores } from "./stores.ts";

export interface CoreOptions {
  config: Config;
  /** 32 bytes, see platform/keyring. */
  instanceKey: Uint8Array;
  environment: Environment;
}

export interface Core {
  registry: Registry;
  counters: Counters;
  stores: Stores;
  keyring: Keyring;
  committer: Committer;
  /** Durable as [replication] acknowledge says. */
  commit: Commit;
  /** Null: what is on this machine's disk is durable. */
  barrier: ReplicaBarrier | null;
  /** Started: it looks at the disk from now on. */
  guard: DiskGuard;
  /** Whether delivery waits for the operator. */
  pause: DeliveryPause;
}

/** How large bodies of requests may be, and what they are read with: memory for the largest, and what else the machine has for them. */
export function openBodies({ http }: Config, { clock, steady = clock, memory = usableMemory(), log }: Environment) {
  const allowed = Math.max(http.maxBodyBytes, http.maxBatchBodyBytes, http.maxBodyDefaultBytes);
  const largest = Math.min(allowed, getLargestBody(memory));
  if (largest < allowed) log.event("http.bodies_limited", { memory, largest, allowed }, "warn");
  const bodyLimits: BodyLimits = {
    sendBytes: Math.min(http.maxBodyBytes, largest),
    batchBytes: Math.min(http.maxBatchBodyBytes, largest),
    otherBytes: Math.min(http.maxBodyDefaultBytes, largest),
  };
  const budget = createBodyBudget(getPoolBytes(memory, largest), steady, () => Bun.gc(true), RESERVE_BYTES);
  return { bodyLimits, bodies: { clock: steady, budget } };
}

/** `logSync` null: each COMMIT syncs the log. `isReplicating`: commits can wait for a replica. Throws StartError when the key is another one than that of the database, or there is none in it yet. */
export function openCore(
  { config, instanceKey, environment }: CoreOptions,
  db: Db,
  { logSync, isReplicating }: { logSync: LogSync | null; isReplicating: boolean },
): Core {
  const { clock, random, log } = environment;
  const registry = new Registry();
  const counters = createCounters(registry, () => clock.now(), CATEGORIES);
  const opened = openKeyring(instanceKey, random);
  const stores = openStores(db, counters.emails, opened.hmacKey("suppression"));
  const keyring = checkedKeyring(opened, stores.settings.get("key_check"), config.dataDir);
  // The first change after an update is the end of going back; last, since the other followers write too.
  if ((stores.settings.get("update_probation") ?? "") !== "")
    db.listeners.push(new UpdateProbation(db, stores.settings));
  const hooks: CommitterHooks = {
    committed: counters.commits.committed,
    failed: (error) => {
      counters.commits.failed();
      guard.raise(error);
    },
    internalError: (error) => log.error("committed", error),
    syncFailed(error) {
      counters.commits.failed();
      log.event("disk.failed", { reason: getErrorMessage(error) }, "warn");
      environment.fatal?.(describeFailedSync(error));
    },
  };
  const committer = new Committer(db, hooks, logSync);
  const guard = new DiskGuard({
    committer,
    probe: (padding) => stores.settings.set("last_write", `${clock.now()} ${padding}`),
    clock,
    log,
    limits: config.disk,
    readFree: environment.readFree ?? createFreeSpaceReader(config.dataDir),
    changed: (reason) => (reason === null ? log.event("disk.recovered") : log.event("disk.failed", { reason }, "warn")),
  });
  guard.start();
  const isKept = isReplicating && config.replication.acknowledge === "replica";
  const barrier = isKept ? openBarrier(environment, registry, guard) : null;
  const commit = barrier === null ? committer.commit : barrier.wrap(committer.commit);
  const pause = new DeliveryPause({
    read: () => stores.settings.get("delivery_paused"),
    write: (value) => stores.settings.set("delivery_paused", value),
    commit,
    commitHere: committer.commit,
    clock,
  });
  return { registry, counters, stores, keyring, committer, commit, barrier, guard, pause };
}

function openBarrier(
  { clock, steady = clock, log }: Environment,
  registry: Registry,
  guard: DiskGuard,
): ReplicaBarrier {
  return new ReplicaBarrier({
    steady,
    synced: createReplicaWaits(registry),
    behind(reason) {
      if (reason === null) log.event("replication.caught_up");
      else log.event("replication.behind", { reason }, "warn");
      guard.setBehind(reason);
    },
  });
}

function describeFailedSync(error: Error): string {
  return (
    `The disk did not sync the database's log (${getErrorMessage(error)}), so that what was stored last may not be on it. ` +
    "pombo ends here: nothing of it was answered. The next start writes the log again and goes on when the disk syncs it. " +
    "If it does not, look at the disk: dmesg says what the kernel saw."
  );
}

export function notSetUp(dataDir: string): StartError {
  return new StartError(`The data directory ${dataDir} was not set up yet: run pombo init first.`);
}

function checkedKeyring(keyring: Keyring, checkValue: string | null, dataDir: string): Keyring {
  if (checkValue === null) throw notSetUp(dataDir);
  if (keyring.checkValue() !== checkValue) {
    throw new StartError(
      "The instance key is not the one that this database was sealed with. " +
        "Put the recovery key that pombo init printed back into the instance key file ([secrets] instance_key_file).",
    );
  }
  return keyring;
}
