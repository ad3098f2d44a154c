import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AnyElysia } from "elysia";
import { createApi } from "./api.ts";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { Committer } from "./db/commit.ts";
import { DiskGuard, freeSpaceOf, type ReadFree } from "./db/guard.ts";
import { type Db, openDatabase } from "./db/open.ts";
import { createResolver, systemServers } from "./dns/client.ts";
import { createWatchedResolver } from "./dns/watch.ts";
import { failQueuedOf } from "./emails/abandon.ts";
import type { StoredBody } from "./emails/body.ts";
import { emailTeller } from "./emails/facts.ts";
import { relayFinder } from "./emails/relay.ts";
import { openRelays } from "./emails/relay-settings.ts";
import type { Composed, ComposeInput } from "./emails/compose.ts";
import { createComposer } from "./emails/composer.ts";
import type { GivenContent } from "./emails/prepare.ts";
import { createPreparer } from "./emails/preparer.ts";
import { StartError } from "./errors.ts";
import { listen } from "./http/listen.ts";
import { purgeAnswers } from "./idempotency/purge.ts";
import { type Keyring, openKeyring } from "./keyring/seal.ts";
import { keyVerifier } from "./keys/verify.ts";
import { takeLock } from "./lock.ts";
import type { Log } from "./log.ts";
import { createCounters } from "./metrics/counters.ts";
import { Registry } from "./metrics/registry.ts";
import { serveMetrics } from "./metrics/serve.ts";
import type { Worker } from "./queue/worker.ts";
import type { Random } from "./random.ts";
import { lookupsAtOnce } from "./smtp/destinations.ts";
import type { SessionTimeouts } from "./smtp/session.ts";
import { buildSender } from "./sender.ts";
import { openStores, planFinder } from "./stores.ts";
import { buildTeller, type Teller } from "./teller.ts";
import { ThreadLine, type ThreadPort } from "./threads/line.ts";

// The composition root: every part is built here, in the order in which it may begin to act, and
// ended in reverse. Lock → database → recovery and worker → API.

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
  /** http://127.0.0.1:9464/metrics; null: they are turned off. */
  metricsUrl: string | null;
  db: Db;
  committer: Committer;
  worker: Worker;
  /** Who tells of what happens. */
  teller: Teller;
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
    const registry = new Registry();
    const counters = createCounters(registry, () => clock.now());
    const stores = openStores(db, counters.emails);
    const keyring = checkedKeyring(
      openKeyring(options.instanceKey, random),
      stores.workspaces.fact("key_check"),
      config.dataDir,
    );
    const committer: Committer = new Committer(db, {
      committed: counters.commits.committed,
      failed: (error) => {
        counters.commits.failed();
        guard.raise(error);
      },
    });
    const { commit } = committer;
    const guard = new DiskGuard({
      committer,
      probe: (padding) => stores.workspaces.setFact("last_write", `${clock.now()} ${padding}`),
      clock,
      limits: config.disk,
      readFree: edges.readFree ?? freeSpaceOf(config.dataDir),
      changed: (reason) => (reason === null ? log.event("disk.well") : log.event("disk.trouble", { reason }, "warn")),
    });
    guard.start();
    closers.push(() => guard.stop());

    const findRelay = relayFinder(openRelays(config.relay));
    const servers = config.dns.servers.length > 0 ? config.dns.servers : systemServers();
    const { resolver, watch: dnsWatch } = createWatchedResolver({
      servers,
      witness: config.hostname,
      lookupsAtOnce: lookupsAtOnce(config.email.maxSessions),
      ...edges,
    });
    closers.push(() => resolver.close());
    // Of their own: checks of domains that DNS is mute about must not take the places of the mail's look-ups.
    const checkResolver = createResolver({ servers, clock, random });
    closers.push(() => checkResolver.close());
    closers.push(() => dnsWatch.stop());
    // Receivers of webhooks whose DNS is mute must not take the places of the mail's look-ups.
    const callResolver = createResolver({ servers, clock, random });
    closers.push(() => callResolver.close());
    const teller = buildTeller({ config, edges, db, stores, keyring, committer, guard, resolver: callResolver });
    const tell = (why: string) => log.bug("thread", new Error(`a thread was given up: ${why}`));
    const preparing = new ThreadLine<GivenContent, StoredBody>({ open: openThread, tell });
    const composing = new ThreadLine<ComposeInput, Composed>({ open: openThread, tell });
    closers.push(() => preparing.close());
    closers.push(() => composing.close());
    const composer = createComposer(composing);
    const tellOfEmail = emailTeller(stores.emails, teller.recorder);
    stores.emails.followEnds(({ status, ...end }) => {
      if (status !== "queued") tellOfEmail({ ...end, type: `email.${status}` });
    });
    const mail = { resolver, findRelay, composer, tellOfEmail };
    const sender = buildSender({ config, edges, stores, keyring, committer, guard, ...mail });
    const { worker, pool, slots, sites, keychain } = sender;
    const troubles = () => [...guard.troubles, worker.trouble, dnsWatch.trouble].filter((each) => each !== null);

    const planOf = planFinder(config, stores);
    const settings = { bounceHost: config.email.bounceHost, dmarcRua: config.email.dmarcRua };
    const common = { commit, clock, random, log };
    const api = await createApi({
      emails: {
        ...stores,
        ...common,
        guard,
        planOf,
        preparer: createPreparer(preparing),
        nudge: (laneId, dueAt, expiresAt) => worker.nudge(laneId, dueAt, expiresAt),
        findRelay,
        tellOfEmail,
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
        resolver: checkResolver,
        settings,
        deleteKeysOf: (domainId) => stores.keys.deleteOfDomain(domainId),
        deleted: (domain) => void failQueuedOf(domain, { ...stores, ...common }),
      },
      keys: { ...stores, ...common, planOf },
      webhooks: {
        ...common,
        record: teller.recorder.record,
        subscribers: teller.subscribers,
        rules: teller.rules,
        look: teller.look,
        webhooks: stores.webhooks,
        jobs: stores.webhookJobs,
        deliveries: stores.webhookDeliveries,
        events: stores.events,
        keyring,
        planOf,
        workspaceUid: (id) => stores.workspaces.byId(id)?.uid ?? null,
      },
      events: { events: stores.events, listeners: teller.listeners },
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
      troubles,
      beside: options.beside ?? null,
    });

    // The port is taken before the worker starts: a start that fails there has sent nothing.
    const server = listen(api, config.http, {
      portHint: options.portHint ?? "choose another port ([http] listen)",
      answered: counters.http.answered,
    });
    closers.push(() => server.stop(0));
    const metrics =
      config.metrics.listen === null
        ? null
        : serveMetrics({
            listen: config.metrics.listen,
            registry,
            counters,
            db,
            databaseFile: databaseFile(config.dataDir),
            siteOf: (laneId) => worker.siteOf(laneId),
            sources: {
              isReady: () => troubles().length === 0,
              runningAttempts: () => worker.runningCount,
              sessions: () => ({ busy: slots.openCount, idle: pool.idleCount }),
              blockedSites: () => sites.blocked().length,
              freeDiskBytes: () => guard.freeBytes,
            },
            clock,
            log,
          });
    closers.push(() => metrics?.stop());
    closers.push(() => committer.flush());
    closers.push(
      purgeAnswers({ idempotency: stores.idempotency, commit, clock, log, keepMs: config.idempotency.keepMs }),
    );
    await worker.start();
    await teller.start();
    const stop = async (graceMs = STOP_GRACE_MS) => {
      // Side by side: a slow client must not keep the worker claiming, nor use up the service manager's patience.
      // Look-ups end with the grace, as connections do: silent DNS would outlast it.
      const cancel = clock.after(graceMs, () => {
        resolver.close();
        checkResolver.close();
        callResolver.close();
        composing.close();
      });
      await Promise.all([server.stop(Math.min(graceMs, REQUEST_GRACE_MS)), worker.stop(graceMs), teller.stop(graceMs)]);
      cancel();
      await pool.close();
      await endAll();
    };
    return { url: server.url, metricsUrl: metrics?.url ?? null, db, committer, worker, teller, guard, stop };
  } catch (error) {
    closers.shift(); // the lock is released by the caller
    await endAll();
    throw error;
  }
}

/** By this address it is found beside the source and inside the executable. */
function openThread(): ThreadPort {
  return new globalThis.Worker(new URL("./thread.ts", import.meta.url));
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
