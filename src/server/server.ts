import type { AnyElysia } from "elysia";
import { createApi, createOperatorApi } from "../api/app.ts";
import { buildApiDeps } from "./api-deps.ts";
import { createOperatorRoutes, createRoutes } from "./api-routes.ts";
import { workspaceRoutes } from "../modules/workspaces/routes.ts";
import { getLastTime, watchClock } from "./clock-watch.ts";
import type { Committer } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import { closeDatabase, type Db } from "../platform/db/open.ts";
import { toStartError } from "../platform/db/unusable-file.ts";
import { generateKeyPairs, type KeyPairs } from "../protocols/dkim/keys.ts";
import type { DomainRecheck } from "../modules/domains/recheck.ts";
import type { StoredBody } from "../modules/emails/content/body.ts";
import { RefusalWatch, SHARE_OF_REPORTED } from "../modules/emails/delivery/mass-refusals.ts";
import { relayFinder } from "../modules/emails/delivery/relay.ts";
import { openRelays } from "../modules/emails/delivery/relay-settings.ts";
import type { Composed, ComposeInput } from "../modules/emails/content/compose.ts";
import { createComposer } from "../modules/emails/content/compose-thread.ts";
import type { GivenContent } from "../modules/emails/content/prepare.ts";
import { createPreparer } from "../modules/emails/content/prepare-thread.ts";
import { StartError } from "../platform/errors.ts";
import { databaseFile } from "../platform/db/open.ts";
import { openBodies, openCore, openMetrics } from "./core.ts";
import { createHandler } from "../platform/http/direct-routes.ts";
import { listen } from "../platform/http/listen.ts";
import { createListPages } from "../platform/http/pagination.ts";
import { listenOnSocket, getSocketFile } from "../platform/http/unix-socket.ts";
import { purgeAnswers } from "../modules/idempotency/purge.ts";
import { purgeContents } from "../modules/emails/content/purge.ts";
import type { Receive } from "../modules/inbound-mail/inbound-message.ts";
import { KnownReporters } from "../modules/inbound-mail/server/known-reporters.ts";
import { createMaintenance } from "./maintenance.ts";
import { lockHeld, type Purpose, takeInstanceLock } from "../platform/instance-lock.ts";
import { isReplicated, type Replicator, startReplicator } from "../backup/replication.ts";
import { type Log, redact } from "../platform/log.ts";
import { openResolvers } from "./resolvers.ts";
import { type InstanceOptions, openInstance } from "./bootstrap.ts";
import { openThread } from "./start-mail-worker.ts";
import { PageCheck } from "../platform/db/page-check.ts";
import { SendingRates } from "../modules/plans/sending-block.ts";
import type { DeliveryPause } from "../platform/queue/delivery-pause.ts";
import type { Worker } from "../platform/queue/worker.ts";
import { createInboundMail } from "./inbound-mail.ts";
import { createEmailDelivery } from "./email-delivery.ts";
import { createSms, type Sms, SMS_GRACE_MS } from "../modules/sms/index.ts";
import type { SmsStores } from "../modules/sms/stores.ts";
import { planFinder } from "./stores.ts";
import { emitRateEvent, emitStoreEvents } from "./event-sources.ts";
import { createEmailEvents } from "../modules/emails/events.ts";
import { createEvents } from "../modules/events/index.ts";
import { createWebhooks, type Webhooks } from "../modules/webhooks/index.ts";
import { ThreadLine } from "../platform/worker-threads/worker-thread.ts";
import { isReadyWith } from "../platform/health-issue.ts";

// The composition root: every part is built here, in the order in which it may begin to act, and
// ended in reverse. Lock → database → recovery and worker → API.

/** What a stop gives running sessions to end. */
const STOP_GRACE_MS = 22_000;
/** And running requests, to be answered. */
const REQUEST_GRACE_MS = 5_000;
/** All of a stop, of the 60 s that are promised; what the sessions leave of it is the replica's, and a share at least. */
const STOP_BUDGET_MS = 58_000;
const REPLICA_SHARE_MS = 10_000;

export interface AppOptions extends InstanceOptions {
  /** 32 bytes, see platform/keyring. */
  instanceKey: Uint8Array;
  /** For a domain that is registered; default: new ones. */
  makeKeys?: () => Promise<KeyPairs>;
  /** Routes beside the API: the sandbox's. */
  beside?: AnyElysia;
  /** False: sending is never blocked for its rates, as in the sandbox, whose mail bounces on purpose. */
  isRateBlocking?: boolean;
  /** A domain that can be sent from, for the examples in the API docs; default: example.com. */
  exampleDomain?: string;
  /** Takes what comes back by mail; default: nothing is taken, and whoever brings it comes back with it. */
  receive?: Receive;
  /** What a person can do when the API's port is taken; default: change the configuration. */
  portHint?: string;
}

export interface App {
  /** Base of the API: http://127.0.0.1:8080 */
  url: string;
  /** http://127.0.0.1:9464/metrics; null: they are turned off. */
  metricsUrl: string | null;
  /** Where bounces and complaints come in: 127.0.0.1:2525; null: nothing comes in. */
  inbound: string | null;
  db: Db;
  committer: Committer;
  worker: Worker;
  webhooks: Webhooks;
  guard: DiskGuard;
  /** What is done with a letter that comes in. */
  receive: Receive;
  domainWatch: DomainRecheck;
  /** The texts, as the dispatcher of their links moves them. */
  sms: SmsStores;
  /** Who sends and receives them. */
  texter: Sms;
  replicator: Replicator;
  /** Whether delivery waits for the operator. */
  pause: DeliveryPause;
  /** Ends everything in order; what is under way gets up to `graceMs` to end, or 22 s and the texts' links 41. */
  stop(graceMs?: number): Promise<void>;
}

/** Starts the instance of a data directory. Throws StartError with what a person can do about it. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config } = options;
  const lock = await takeInstanceLock(config.dataDir, options.environment.clock);
  if (lock.kind === "held") throw new StartError(lockHeld(config.dataDir, lock.pid));
  try {
    const started = await start(options, "instance", () => lock.release());
    if (started.kind === "instance") return started.app;
    throw new Error("a start that was to act did not");
  } catch (error) {
    lock.release();
    throw error;
  }
}

export type Started =
  | { kind: "instance"; app: App }
  /** Nothing of it listens or sends. */
  | { kind: "command"; handle(request: Request): Promise<Response>; close(): Promise<void> };

/** Opens the database and makes every part; of an instance it takes requests then, and sends. */
export async function start(options: AppOptions, purpose: Purpose, releaseLock: () => void): Promise<Started> {
  const { config, environment } = options;
  const { clock, random, log } = environment;
  const steady = environment.steady ?? clock;
  const db = await openInstance(options);
  let replicator: Replicator | null = null;
  let stopsSince: number | null = null;
  const endReplication = () => {
    const passedMs = steady.now() - (stopsSince ?? steady.now());
    return replicator?.end(Math.max(REPLICA_SHARE_MS, STOP_BUDGET_MS - passedMs));
  };
  const close = () => closeDatabase(db, { isReplicated: isReplicated(config) });
  const closers: (() => Promise<void> | void)[] = [releaseLock, endReplication, close];
  const endAll = async () => {
    for (const each of closers.splice(0).toReversed()) await each();
  };
  try {
    const { registry, counters, stores, keyring, committer, guard, pause } = openCore(options, db);
    const { commit } = committer;
    closers.push(() => guard.stop());

    const findRelay = relayFinder(openRelays(config.relay));
    const lookups = openResolvers(config, environment);
    const { resolver, watch: dnsWatch, checkResolver, callResolver } = lookups;
    closers.push(() => lookups.close());
    closers.push(() => dnsWatch.stop());
    const context = { commit, clock, steady, random, log, guard };
    const events = createEvents(context, stores, { db, keyring });
    const webhookDeps = { events, keyring, pause, resolver: callResolver };
    const webhooks = createWebhooks(context, stores, config, webhookDeps);
    const tellOfEmail = createEmailEvents(stores.emails, events);
    emitStoreEvents(stores, events, { clock, tellOfEmail });
    const tell = (why: string) => log.error("thread", new Error(`a thread was given up: ${why}`));
    const preparing = new ThreadLine<GivenContent, StoredBody>({ open: openThread, tell });
    const composing = new ThreadLine<ComposeInput, Composed>({ open: openThread, tell });
    closers.push(() => preparing.close());
    closers.push(() => composing.close());
    const composer = createComposer(composing);
    const { record } = events;
    const isBlocking = options.isRateBlocking ?? true;
    const rates = new SendingRates({
      ...stores,
      clock,
      log,
      isBlocking,
      notify: (notice) => emitRateEvent(notice, events),
    });
    db.listeners.push(rates);
    const show = config.log.addresses === "full" ? (words: string) => words : redact;
    const shared = { config, environment, stores, keyring, committer, guard, pause, findRelay, rates, show };
    const reportedRefusals = new RefusalWatch(SHARE_OF_REPORTED);
    const reporters = new KnownReporters(clock);
    const sender = createEmailDelivery({ ...shared, reportedRefusals, reporters, resolver, composer, tellOfEmail });
    const { worker, pool, slots, sites, keychain, heldExpiry } = sender;
    const common = { commit, clock, random, log, pages: createListPages(keyring.hmacKey("list-cursor")) };
    const { commitSoon } = committer;
    const planOf = planFinder(config, stores);
    const forSms = { steady, guard, commitSoon, pause, resolver: callResolver, record, planOf };
    const texter = createSms({ ...common, ...forSms }, stores, config);
    const clockWatch = watchClock({ environment, worker, webhooks, texter, stores });
    closers.push(() => clockWatch.stop());
    const pages = new PageCheck({
      dataDir: config.dataDir,
      databaseFile: databaseFile(config.dataDir),
      openThread,
      clock,
      log,
    });
    closers.push(() => pages.stop());
    const others = () =>
      [worker, dnsWatch, pause, clockWatch, pages]
        .map(({ issue: trouble }) => trouble)
        .concat(replicator?.issue ?? null);
    const issues = () => [...guard.issues, ...others(), ...texter.issues()].filter((each) => each !== null);

    const keeper = createMaintenance({
      config,
      environment,
      stores,
      committer,
      guard,
      keychain,
      record,
      resolver: checkResolver,
      forgetLanes: (laneIds) => worker.forgetLanes(laneIds),
    });
    const { verifier, domainWatch, abandoner, removal } = keeper;
    closers.push(() => keeper.close());
    const apiDeps = buildApiDeps({
      config,
      stores,
      common,
      guard,
      keyring,
      keychain,
      findRelay,
      events,
      tellOfEmail,
      webhooks,
      verifier,
      abandoner,
      worker,
      rates,
      heldExpiry,
      removal,
      issues,
      preparer: createPreparer(preparing),
      ...openBodies(config, environment),
      exampleDomain: options.exampleDomain ?? "example.com",
      beside: options.beside ?? null,
      makeKeys: options.makeKeys ?? generateKeyPairs,
      texter,
      overseen: { db, sites, texter, counters, pause, pages, replicator: () => replicator },
    });
    // Made when a command first asks: at a start nobody waits for it.
    let operatorApi: ReturnType<typeof createHandler> | null = null;
    const openOperatorApi = () => {
      const routes = [workspaceRoutes(apiDeps.workspaces), ...createOperatorRoutes(apiDeps.operator)];
      return createHandler(createOperatorApi({ ...apiDeps, routes }));
    };
    const handle = (request: Request) => (operatorApi ??= openOperatorApi())(request);
    if (purpose === "command") {
      // What a command sets off goes on at the next start.
      closers.push(() => committer.flush());
      closers.push(() => heldExpiry.stop());
      closers.push(() => removal.stop());
      return { kind: "command", handle, close: endAll };
    }
    const api = createApi({ ...apiDeps, routes: createRoutes(apiDeps) });
    const receiver = createInboundMail({
      ...shared,
      reportedRefusals,
      counts: counters.inbound,
      openThread,
      reporters,
      resolver: checkResolver,
    });
    closers.push(() => receiver.close());

    await clockWatch.start(getLastTime(stores));
    const replica = { databaseFile: databaseFile(config.dataDir), choice: options.replica ?? {} };
    replicator = await startReplicator({
      config,
      environment,
      db,
      settings: stores.settings,
      commit,
      pause,
      registry,
      openThread,
      ...replica,
    });
    const { settle } = replicator;
    closers.push(() => committer.flush());
    closers.push(settle);
    // The port is taken before the worker starts: a start that fails there has sent nothing.
    const server = listen(api, config.http, {
      portHint: options.portHint ?? "choose another port ([http] listen)",
      answered: counters.http.answered,
    });
    closers.push(() => server.stop(0));
    const socket = listenOnSocket(getSocketFile(config.dataDir), handle);
    closers.push(() => socket.stop(0));
    const inbound = await receiver.listen(options.receive ?? receiver.receive);
    closers.push(() => inbound?.stop(0));
    const metrics = openMetrics({
      config,
      registry,
      counters,
      db,
      siteOf: (laneId) => worker.getSite(laneId),
      sources: {
        isReady: () => isReadyWith(issues()),
        texts: () => texter.figures(),
        runningAttempts: () => worker.runningCount,
        sessions: () => ({ busy: slots.openCount, idle: pool.idleCount }),
        inboundClients: () => inbound?.clientCount ?? 0,
        blockedSites: () => sites.blocked().length,
        freeDiskBytes: () => guard.freeBytes,
      },
      clock,
      log,
    });
    closers.push(() => metrics?.stop());
    closers.push(() => committer.flush());
    closers.push(
      purgeAnswers({ idempotency: stores.idempotency, commit, clock, log, keepMs: config.idempotency.retentionMs }),
    );
    closers.push(
      purgeContents({ contents: stores.contents, commit, clock, log, keepMs: config.email.contentRetentionMs }),
    );
    closers.push(() => heldExpiry.stop());
    heldExpiry.look();
    await worker.start();
    closers.push(() => texter.stop());
    await texter.start();
    closers.push(() => removal.stop());
    keeper.begin();
    await webhooks.start();
    const stop = async (given?: number) => {
      const graceMs = given ?? STOP_GRACE_MS;
      stopsSince ??= steady.now();
      keeper.settle();
      // Side by side: a slow client must not keep the worker claiming, nor use up the service manager's patience.
      // Look-ups end with the grace, as connections do: silent DNS would outlast it.
      const cancel = clock.after(graceMs, () => {
        lookups.close();
        composing.close();
      });
      const requestGraceMs = Math.min(graceMs, REQUEST_GRACE_MS);
      events.stop();
      const [emails, calls, texts] = await Promise.all([
        worker.stop(graceMs),
        webhooks.drain(graceMs),
        texter.drain(given ?? SMS_GRACE_MS),
        server.stop(requestGraceMs),
        socket.stop(requestGraceMs),
        inbound?.stop(graceMs),
      ]);
      cancel();
      if (emails + calls + texts > 0) tellUnrecorded({ emails, webhooks: calls, texts }, log);
      await pool.close();
      await endAll();
    };
    const seen = { url: server.url, metricsUrl: metrics?.url ?? null, inbound: inbound?.address ?? null };
    const { receive } = receiver;
    const { sms } = stores;
    const app = {
      ...seen,
      db,
      committer,
      worker,
      webhooks,
      guard,
      receive,
      domainWatch,
      sms,
      texter,
      replicator,
      pause,
      stop,
    };
    return { kind: "instance", app };
  } catch (error) {
    closers.shift(); // the lock is released by the caller
    await endAll();
    throw toStartError(error, databaseFile(config.dataDir)) ?? error;
  }
}

/** The storage failed until the end of a stop. */
function tellUnrecorded(of: { emails: number; webhooks: number; texts: number }, log: Log): void {
  const words =
    "The database could not be written: the outcome of these emails, webhook calls and texts is not recorded. The next " +
    "start continues with them. Emails that may have been delivered go out again, marked possibleDuplicate; calls are made again; " +
    "for texts it is as if their answers were lost.";
  log.event("pombo.unrecorded", { ...of, words }, "warn");
}
