// The composition root: opens the database, starts everything in the order in which it may begin to act, and stops it in
// reverse. Lock → database → modules → replication → API → delivery. On a full disk only the API starts, and refuses sends.

import { createApi, createOperatorApi } from "../api/app.ts";
import { describeAlone, noteStartWithoutLease } from "../backup/standby/alone.ts";
import type { ReplicaBarrier } from "../backup/replica-barrier.ts";
import { registerStandby } from "../backup/standby/presence.ts";
import { isReplicated, type Replicator, startReplicator } from "../backup/replication.ts";
import { dashboardRoutes } from "../dashboard/index.ts";
import { SMS_GRACE_MS } from "../modules/sms/index.ts";
import type { Component } from "../platform/context.ts";
import { takeOverSync } from "../platform/db/log-sync.ts";
import { Checkpoints } from "../platform/db/checkpoints.ts";
import { closeDatabase, databaseFile } from "../platform/db/open.ts";
import { PageCheck } from "../platform/db/file/page-check.ts";
import { toStartError } from "../platform/db/file/unusable-file.ts";
import { StartError } from "../platform/errors.ts";
import { isReadyWith } from "../platform/health-issue.ts";
import { createHandler } from "../platform/http/direct-routes.ts";
import { getSocketFile, listenOnSocket } from "../platform/http/unix-socket.ts";
import { parseRanges } from "../platform/ip/address.ts";
import { lockHeld, type Purpose, takeInstanceLock } from "../platform/instance-lock.ts";
import type { Log } from "../platform/log.ts";
import { buildAlertSources } from "./alert-sources.ts";
import type { App, AppOptions } from "./app.ts";
import { openInstance } from "./bootstrap.ts";
import { getLastTime, watchClock } from "./clock-watch.ts";
import { openBodies, openCore } from "./core.ts";
import { DeferredStart } from "./deferred-start.ts";
import { serveMetrics } from "./metrics/serve.ts";
import { createModules, type Modules } from "./modules.ts";
import { openPorts } from "./ports.ts";
import { buildInstanceView, buildOperatorDeps } from "./operator-deps.ts";
import { openResolvers } from "./resolvers.ts";
import { watchExecutable } from "../platform/update/replaced.ts";
import { openThread as openNewThread } from "./start-mail-worker.ts";

/** What a stop gives running sessions to end. */
const STOP_GRACE_MS = 22_000;
/** And running requests, to be answered. */
const REQUEST_GRACE_MS = 5_000;
/** A stop takes at most 60 s. The replica gets what the sessions leave of this, and at least its minimum. */
const STOP_BUDGET_MS = 58_000;
const REPLICA_MIN_MS = 10_000;

/** Null: nobody can sign in. */
function openDashboard(
  { dashboard, http }: Pick<AppOptions["config"], "dashboard" | "http">,
  previews: Modules["previews"],
) {
  if (!dashboard.enabled) return null;
  const site = { url: dashboard.url, trustedProxies: parseRanges(http.trustedProxies) };
  return dashboardRoutes(site, previews, { magicLinks: dashboard.magicLinks && dashboard.from !== null });
}

/** Starts the instance of a data directory. Throws StartError with what a person can do about it. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config } = options;
  const lock = await takeInstanceLock(config.dataDir, options.environment.clock);
  if (lock.kind === "held") throw new StartError(lockHeld(config.dataDir, lock.pid));
  try {
    noteStartWithoutLease(config.dataDir);
    const started = await start(options, "instance", () => lock.release());
    if (started.kind === "instance") return started.app;
    throw new Error("a start that was to act did not");
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Says so when the replica has all that this machine did alone. */
function settleTerm(settled: () => void, barrier: ReplicaBarrier | null, log: Log): void {
  barrier
    ?.kept()
    .then(settled, () => undefined)
    .catch((error: unknown) => log.error("standby", error));
}

export type Started =
  | { kind: "instance"; app: App }
  /** Nothing of it listens or sends. */
  | { kind: "command"; handle(request: Request): Promise<Response>; close(): Promise<void> };

/** Opens the database and builds the modules; an instance then takes requests and sends. */
export async function start(options: AppOptions, purpose: Purpose, releaseLock: () => void): Promise<Started> {
  const { config, environment, openThread = openNewThread } = options;
  const { clock, random, log, steady = clock } = environment;
  const file = databaseFile(config.dataDir);
  const db = await openInstance(options);
  let replicator: Replicator | null = null;
  let stopsSince: number | null = null;
  const endReplication = () => {
    const passedMs = steady.now() - (stopsSince ?? steady.now());
    return replicator?.end(Math.max(REPLICA_MIN_MS, STOP_BUDGET_MS - passedMs));
  };
  const close = () => closeDatabase(db, { isReplicated: isReplicated(config) });
  const closers: (() => Promise<void> | void)[] = [releaseLock, endReplication, close];
  const endAll = async () => {
    for (const each of closers.splice(0).toReversed()) await each();
  };
  try {
    const logSync = purpose === "instance" && options.isSyncInline !== true ? takeOverSync(db.sqlite) : null;
    closers.push(() => logSync?.close());
    const core = { ...openCore(options, db, { logSync, isReplicating: purpose === "instance" }), db };
    const { stores, committer, barrier, guard, pause } = core;
    // Litestream checkpoints the log of a database that it replicates.
    if (purpose === "instance" && !isReplicated(config)) {
      const checkpoints = new Checkpoints({ sqlite: db.sqlite, databaseFile: file, openThread, log });
      db.listeners.push(checkpoints);
      closers.push(() => checkpoints.stop());
    }
    closers.push(() => guard.stop());
    closers.push(() => barrier?.close());
    const resolvers = openResolvers(config, environment);
    closers.push(() => resolvers.close());
    closers.push(() => resolvers.watch.stop());
    let { port } = config.http.listen;
    const modules = createModules(options, core, resolvers, () => port);
    const { emails, sms, webhooks, domains, inboundMail, events, live } = modules;
    closers.push(() => emails.stop());
    closers.push(() => domains.stop());
    closers.push(() => modules.previews.stop());
    const clockWatch = watchClock({ environment, worker: emails.worker, webhooks, sms, stores });
    closers.push(() => clockWatch.stop());
    const pages = new PageCheck({ dataDir: config.dataDir, databaseFile: file, openThread, clock, log });
    closers.push(() => pages.stop());
    const deferred = new DeferredStart({ guard, clock, log });
    closers.push(() => deferred.stop());
    const alone = { issue: options.aloneSince === undefined ? null : describeAlone(options.aloneSince) };
    const { lease = null } = options;
    const standbys = lease?.standbys ?? { issue: null };
    const watches = [resolvers.watch, pause, clockWatch, pages, deferred, alone, standbys];
    const issues = () => [
      ...guard.issues,
      ...emails.issues(),
      ...[...watches.map(({ issue }) => issue), replicator?.issue ?? null].filter((issue) => issue !== null),
      ...sms.issues(),
      ...modules.certificates.issues(),
    ];

    for (const source of buildAlertSources({ issues, stores, modules, clock })) modules.alerts.addSource(source);
    const operator = buildOperatorDeps({ ...options, core, modules, pages, issues, replicator: () => replicator });
    let tlsUrls: readonly string[] = [];
    const { instanceKeyFile } = config.secrets;
    const seen = { tlsUrls: () => tlsUrls, isReplaced: watchExecutable(), instanceKeyFile };
    const view = { operator, modules, counters: core.counters, ...seen };
    modules.doctor.observe(() => buildInstanceView(view));
    const apiOptions = { clock, random, log, ...openBodies(config, environment) };
    // Built when a command first asks: at a start nobody waits for it.
    let operatorApi: ReturnType<typeof createHandler> | null = null;
    const openOperatorApi = () =>
      createHandler(createOperatorApi({ ...apiOptions, routes: modules.socketRoutes(operator) }));
    const handle = (request: Request) => (operatorApi ??= openOperatorApi())(request);
    if (purpose === "command") {
      closers.push(() => committer.flush());
      return { kind: "command", handle, close: endAll };
    }

    const api = createApi({
      ...apiOptions,
      routes: modules.routes(operator),
      verifyKey: modules.apiKeys.verifyKey,
      people: {
        isEnabled: config.dashboard.enabled,
        dashboardUrl: config.dashboard.url,
        ...modules.members,
        isBegun: () => replicator !== null,
        verifySession: modules.accounts.verifySession,
      },
      rateLimits: config.rateLimits,
      sharedLimits: modules.sharedLimits,
      trustedProxies: config.http.trustedProxies,
      creation: config.workspaces.creation,
      planNames: Object.keys(config.plans),
      exampleDomain: options.exampleDomain ?? "example.com",
      docsKeys: options.docsKeys ?? null,
      numbering: sms.numbering,
      issues,
      operatorKeyFailed: () => modules.alerts.failedKeys.note(),
      beside: [modules.unsubscribing.routes(), openDashboard(config, modules.previews), options.beside].filter(
        (each) => each !== undefined && each !== null,
      ),
      refused(request, status, error) {
        modules.requests.recorder.refused(request, error);
        options.refused?.(request, status, error);
      },
    });
    await deferred.run(() => clockWatch.start(getLastTime(stores)));
    resolvers.watch.start();
    if (lease?.settled !== undefined) settleTerm(lease.settled, barrier, log);
    const replica = { databaseFile: file, choice: options.replica ?? {}, settings: stores.settings, lease };
    const { commit } = committer;
    const replicated = {
      config,
      environment,
      db,
      commit,
      barrier,
      pause,
      registry: core.registry,
      openThread,
      ...replica,
    };
    await deferred.run(async () => void (replicator = await startReplicator(replicated)));
    closers.push(() => committer.flush());
    closers.push(() => replicator?.settle());
    // The port is taken before delivery starts: a start that fails there has sent nothing.
    const server = await openPorts(api, {
      config,
      log,
      certificates: modules.certificates,
      portHint: options.portHint ?? "choose another port ([http] listen)",
      answered(response, durationMs, request) {
        core.counters.http.answered(response.status, durationMs);
        modules.requests.recorder.answered(response, durationMs, request);
      },
    });
    ({ port, tlsUrls } = server);
    closers.push(() => server.stop(0));
    const socket = listenOnSocket(getSocketFile(config.dataDir), handle);
    closers.push(() => socket.stop(0));
    const begin = async (each: Component) => {
      closers.push(() => each.stop?.());
      await each.start?.();
    };
    if (lease !== null) {
      registerStandby(core.registry, lease.standbys, () => lease.holder.term);
      await begin(lease.standbys);
    }
    await begin(inboundMail);
    await begin(modules.submission);
    const metrics = serveMetrics({ config, environment, core, modules, isReady: () => isReadyWith(issues()) });
    closers.push(() => metrics?.stop());
    closers.push(() => committer.flush());
    // Also on a full disk, which is a reason for one.
    await begin(modules.alerts);
    const { accounts, members, audit, requests, idempotency, fileShrink, growth, workspaces } = modules;
    const purges = [
      modules.certificates,
      modules.doctor,
      audit,
      requests,
      idempotency,
      fileShrink,
      growth,
      accounts,
      members,
    ];
    for (const each of [...purges, emails, sms, workspaces, domains, webhooks]) await deferred.run(() => begin(each));

    const stop = async (given?: number) => {
      const graceMs = given ?? STOP_GRACE_MS;
      stopsSince ??= steady.now();
      // Look-ups end with the grace, as connections do: silent DNS would outlast it.
      const cancel = clock.after(graceMs, () => {
        resolvers.close();
        barrier?.close();
      });
      await deferred.stop();
      const requestGraceMs = Math.min(graceMs, REQUEST_GRACE_MS);
      events.stop();
      live.stop();
      // In parallel: a slow client must not keep the workers claiming, nor use up the service manager's patience.
      const unrecorded = await Promise.all([
        emails.drain(graceMs),
        webhooks.drain(graceMs),
        sms.drain(given ?? SMS_GRACE_MS),
        server.stop(requestGraceMs),
        socket.stop(requestGraceMs),
        inboundMail.drain(graceMs),
        modules.submission.drain(graceMs),
        domains.drain(graceMs),
      ]);
      cancel();
      reportUnrecorded({ emails: unrecorded[0], webhooks: unrecorded[1], texts: unrecorded[2] }, log);
      await endAll();
    };
    const app: App = {
      url: server.url,
      tlsUrls: server.tlsUrls,
      metricsUrl: metrics?.url ?? null,
      inbound: inboundMail.address,
      submission: [...modules.submission.addresses, ...modules.submission.tlsAddresses],
      db,
      committer,
      worker: emails.worker,
      webhooks,
      guard,
      receive: inboundMail.receive,
      domains,
      accounts,
      members,
      alerts: modules.alerts,
      smsStores: stores.sms,
      sms,
      get replicator() {
        return replicator;
      },
      pause,
      sendSystemMail: emails.sendSystemMail,
      stop,
    };
    return { kind: "instance", app };
  } catch (error) {
    closers.shift(); // the lock is released by the caller
    await endAll();
    throw toStartError(error, file) ?? error;
  }
}

/** Logs how many outcomes are not recorded: the storage failed until the end of a stop. */
function reportUnrecorded(counts: { emails: number; webhooks: number; texts: number }, log: Log): void {
  if (counts.emails + counts.webhooks + counts.texts === 0) return;
  const words =
    "The database could not be written: the outcome of these emails, webhook calls and SMS is not recorded. The next " +
    "start continues with them. Emails that a server has accepted are recorded then, and those that it may have accepted go out again, " +
    "marked possibleDuplicate; calls are made again; " +
    "SMS are treated as if their responses were lost.";
  log.event("pombo.unrecorded", { ...counts, words }, "warn");
}
