import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AnyElysia } from "elysia";
import { createApi } from "./api.ts";
import type { Clock } from "./clock.ts";
import type { Config, Plan } from "./config.ts";
import { Committer } from "./db/commit.ts";
import { DiskGuard, freeSpaceOf, type ReadFree } from "./db/guard.ts";
import { type Db, openDatabase } from "./db/open.ts";
import { createResolver, systemServers } from "./dns/client.ts";
import { failQueuedOf } from "./emails/abandon.ts";
import { emailHandler } from "./emails/deliver.ts";
import { openEmailStore } from "./emails/store.ts";
import { openKeychain } from "./domains/keychain.ts";
import { openDomainStore } from "./domains/store.ts";
import { StartError } from "./errors.ts";
import { listen } from "./http/listen.ts";
import { openIdempotencyStore } from "./idempotency/store.ts";
import { purgeAnswers } from "./idempotency/purge.ts";
import { type Keyring, openKeyring } from "./keyring/seal.ts";
import { openKeyStore } from "./keys/store.ts";
import { keyVerifier } from "./keys/verify.ts";
import { takeLock } from "./lock.ts";
import type { Log } from "./log.ts";
import { parseRanges } from "./net/address.ts";
import { openUsageStore } from "./plans/store.ts";
import { openQueueStore } from "./queue/store.ts";
import { Worker } from "./queue/worker.ts";
import type { Random } from "./random.ts";
import { DEFAULT_TIMEOUTS, type SessionTimeouts } from "./smtp/session.ts";
import { SessionPool } from "./smtp/pool.ts";
import { SessionSlots } from "./smtp/slots.ts";
import { openSuppressionStore } from "./suppressions/store.ts";
import { openWorkspaceStore } from "./workspaces/store.ts";

// The composition root: every part is built here, in the order in which it may begin to act, and
// ended in reverse. Lock → database → recovery and worker → API.

/** Messages of one lane worked on per session that it may have: one in transmission, one being composed and signed. */
const LANE_JOBS_PER_SESSION = 2;
/** What a stop gives running sessions to end. */
const STOP_GRACE_MS = 22_000;
/** And running requests, to be answered. */
const REQUEST_GRACE_MS = 5_000;

/** The outside world, as arguments. */
export interface Edges {
  clock: Clock;
  random: Random;
  log: Log;
  /** Of the data directory's file system; default: the real one. */
  readFree?: ReadFree;
  timeouts?: SessionTimeouts;
}

export interface AppOptions {
  config: Config;
  /** 32 bytes, see src/keyring. */
  instanceKey: Uint8Array;
  edges: Edges;
  /** Routes beside the API: the sandbox's. */
  beside?: AnyElysia;
  /** What a person can do when the API's port is taken; default: change the configuration. */
  portHint?: string;
}

export interface App {
  /** Base of the API: http://127.0.0.1:8080 */
  url: string;
  db: Db;
  committer: Committer;
  worker: Worker;
  guard: DiskGuard;
  /** Ends everything in order; running sessions get up to `graceMs` to end. */
  stop(graceMs?: number): Promise<void>;
}

/** Starts the instance of a data directory. Throws StartError with what a person can do about it. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config } = options;
  const lock = takeLock(config.dataDir);
  if (lock.kind === "held") throw new StartError(lockHeld(config.dataDir, lock.pid));
  try {
    return await startLocked(options, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

export function lockHeld(dataDir: string, pid: number | null): string {
  const holder = pid === null ? "Another pombo" : `Another pombo (process ${pid})`;
  return `${holder} is running on ${dataDir}. Stop it first, or give this one a data_dir of its own; nothing was written or sent.`;
}

export function databaseFile(dataDir: string): string {
  return join(dataDir, "pombo.db");
}

async function startLocked(options: AppOptions, releaseLock: () => void): Promise<App> {
  const { config, edges } = options;
  const { clock, random, log } = edges;
  // Opening would make an empty one, which then stands in the way of init.
  if (!existsSync(databaseFile(config.dataDir))) throw notSetUp(config.dataDir);
  const db = openDatabase(databaseFile(config.dataDir));
  const closers: (() => Promise<void> | void)[] = [releaseLock, () => closeDatabase(db)];
  const endAll = async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  };
  try {
    const stores = openStores(db);
    const keyring = checkedKeyring(
      openKeyring(options.instanceKey, random),
      stores.workspaces.fact("key_check"),
      config.dataDir,
    );
    const committer: Committer = new Committer(db, { failed: (error) => guard.raise(error) });
    const { commit } = committer;
    const guard = new DiskGuard({
      committer,
      probe: (padding) => stores.workspaces.setFact("last_write", `${clock.now()} ${padding}`),
      clock,
      limits: config.disk,
      readFree: edges.readFree ?? freeSpaceOf(config.dataDir),
      changed: (reason) => log.event(reason === null ? "disk.well" : "disk.trouble", { reason }),
    });
    guard.start();
    closers.push(() => guard.stop());

    const { worker, resolver, pool, keychain } = buildSender({ config, edges, stores, keyring, committer, guard });
    closers.push(() => resolver.close());

    const planOf = planFinder(config, stores);
    const settings = { bounceHost: config.email.bounceHost, dmarcRua: config.email.dmarcRua };
    const common = { commit, clock, random, log };
    const api = await createApi({
      emails: {
        ...stores,
        ...common,
        guard,
        planOf,
        nudge: (laneId, dueAt) => worker.nudge(laneId, dueAt),
        settings: {
          ...settings,
          lifetimeMs: config.email.lifetimeMs,
          keepAnswersMs: config.idempotency.keepMs,
          returnPathKey: keyring.hmacKey("return-path"),
        },
      },
      domains: {
        ...stores,
        ...common,
        keyring,
        keychain,
        planOf,
        resolver,
        settings,
        deleteKeysOf: (domainId) => stores.keys.deleteOfDomain(domainId),
        deleted: (domain) => void failQueuedOf(domain, { ...stores, commit, log }),
      },
      keys: { ...stores, ...common, planOf },
      workspaces: {
        ...stores,
        ...common,
        creation: config.workspaces.creation,
        defaultPlan: config.workspaces.defaultPlan,
        planNames: Object.keys(config.plans),
      },
      verifyKey: keyVerifier({
        keys: stores.keys,
        operatorKeyHash: () => stores.workspaces.fact("operator_key_hash"),
        commit,
        clock,
        log,
      }),
      bodyLimits: {
        sendBytes: config.http.maxBodyBytes,
        batchBytes: config.http.maxBatchBodyBytes,
        otherBytes: config.http.maxOtherBodyBytes,
      },
      trouble: () => guard.trouble,
      beside: options.beside ?? null,
    });

    // The port is taken before the worker starts: a start that fails there has sent nothing.
    const server = listen(api, config.http, options.portHint ?? "choose another port ([http] listen)");
    closers.push(() => committer.flush());
    closers.push(
      purgeAnswers({ idempotency: stores.idempotency, commit, clock, log, keepMs: config.idempotency.keepMs }),
    );
    await worker.start();
    const stop = async (graceMs = STOP_GRACE_MS) => {
      // Side by side: a slow client must not keep the worker claiming, nor use up the service manager's patience.
      // Look-ups end with the grace, as connections do: silent DNS would outlast it.
      const cancel = clock.after(graceMs, () => resolver.close());
      await Promise.all([server.stop(Math.min(graceMs, REQUEST_GRACE_MS)), worker.stop(graceMs)]);
      cancel();
      await pool.close();
      await endAll();
    };
    return { url: server.url, db, committer, worker, guard, stop };
  } catch (error) {
    closers.shift(); // the lock is released by the caller
    await endAll();
    throw error;
  }
}

/** Empties the write-ahead log first, so that the file alone is the whole database while pombo is stopped. */
function closeDatabase(db: Db): void {
  try {
    db.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // A full disk: the log stays, and the next start reads it.
  }
  db.close();
}

type Stores = ReturnType<typeof openStores>;

function openStores(db: Db) {
  return {
    workspaces: openWorkspaceStore(db),
    keys: openKeyStore(db),
    domains: openDomainStore(db),
    emails: openEmailStore(db),
    queue: openQueueStore(db),
    idempotency: openIdempotencyStore(db),
    suppressions: openSuppressionStore(db),
    usage: openUsageStore(db),
  };
}

function notSetUp(dataDir: string): StartError {
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

function planFinder(config: Config, stores: Stores): (workspaceId: number) => Plan {
  return (workspaceId) => {
    const name = stores.workspaces.byId(workspaceId)?.plan;
    const plan = name === undefined ? undefined : config.plans[name];
    // A plan that was taken out of the configuration: the default one until the operator sets another.
    const fallback = config.plans[config.workspaces.defaultPlan];
    if (plan === undefined && fallback === undefined) throw new Error("there is no default plan");
    return plan ?? (fallback as Plan);
  };
}

interface SenderParts {
  config: Config;
  edges: Edges;
  stores: Stores;
  keyring: Keyring;
  committer: Committer;
  guard: DiskGuard;
}

function buildSender({ config, edges, stores, keyring, committer, guard }: SenderParts) {
  const { clock, random, log } = edges;
  const { email, dns, hostname } = config;
  const resolver = createResolver({ servers: dns.servers.length > 0 ? dns.servers : systemServers(), clock, random });
  const keychain = openKeychain(stores.domains, keyring);
  const pool = new SessionPool({
    clock,
    heloName: hostname,
    localAddress: email.sourceIpv4,
    port: email.destinationPort,
    timeouts: edges.timeouts ?? DEFAULT_TIMEOUTS,
  });
  const handler = emailHandler({
    ...stores,
    keychain,
    resolver,
    pool,
    slots: new SessionSlots({ perSite: email.sessionsPerDestination, total: email.maxSessions }),
    allowed: parseRanges(email.allowAddresses),
    clock,
    random,
    hostname,
    log,
    showAddress: config.log.addresses === "full" ? (address) => address : redact,
  });
  const worker = new Worker({
    queue: stores.queue,
    handler,
    commit: committer.commit,
    guard,
    clock,
    random,
    log,
    scheduleMs: email.retryMs,
    // No more than sessions: a job that waits for one must not take the place of one that would not.
    maxJobs: email.maxSessions,
    maxJobsPerLane: email.sessionsPerDestination * LANE_JOBS_PER_SESSION,
  });
  return { worker, resolver, pool, keychain };
}

/** `m***@example.com`: enough to recognise a destination, not a person. */
function redact(address: string): string {
  const at = address.lastIndexOf("@");
  return `${address.slice(0, 1)}***${address.slice(at)}`;
}
