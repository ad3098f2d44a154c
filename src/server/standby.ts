// A machine that is one of several: it stands by until it has the lease, brings the database, and starts the instance.
//
// While it stands by only the API's port answers, with 503: mail servers find port 25 closed and use the next MX, and a load
// balancer sees by /ready where the instance is.

import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { endOrphanDaemon } from "../backup/litestream/daemon-process.ts";
import { openTools } from "../backup/litestream/tools.ts";
import type { LeaseRecord } from "../backup/standby/lease.ts";
import {
  type AloneWish,
  bringAloneDatabase,
  readAloneWish,
  removeAloneWish,
  requireNoSplit,
} from "../backup/standby/alone.ts";
import { LeaseHolder, LOOKS_PER_LEASE } from "../backup/standby/lease-holder.ts";
import { openLeaseBucket, openLeaseObject, requireConditionalWrites } from "../backup/standby/lease-object.ts";
import { newNode, type NodeState, readNodeState, writeNodeState } from "../backup/standby/node-file.ts";
import { announce, ANNOUNCE_MS, PresenceWatch } from "../backup/standby/presence.ts";
import { bringDatabase, type HeldTerm } from "../backup/standby/takeover.ts";
import { databaseFile } from "../platform/db/open.ts";
import { getErrorMessage, StartError } from "../platform/errors.ts";
import { bind } from "../platform/http/listen.ts";
import { getSocketFile, listenOnSocket, STANDING_BY_HEADER } from "../platform/http/unix-socket.ts";
import { lockHeld, takeInstanceLock } from "../platform/instance-lock.ts";
import { openEgresses } from "../modules/emails/delivery/egresses.ts";
import { requireSources } from "../platform/ip/own-addresses.ts";
import { openKeyring } from "../platform/keyring/keyring.ts";
import { newId } from "../platform/uuid.ts";
import type { App, AppOptions } from "./app.ts";
import { start } from "./server.ts";

export interface Node {
  app: App;
  /** Stops the app. `isHandOver`: then gives the lease up, so that another machine takes over at once. */
  stop(isHandOver: boolean): Promise<void>;
}

/** Stands by, then starts the instance. Resolves with null when `stopping` does first, and ends the start. Throws StartError. */
export async function startNode(options: AppOptions, stopping: Promise<unknown>): Promise<Node | null> {
  const { config, environment } = options;
  const lock = await takeInstanceLock(config.dataDir, environment.clock);
  if (lock.kind === "held") throw new StartError(lockHeld(config.dataDir, lock.pid));
  // Restoring a large database takes minutes, and a stop does not wait for it.
  const ending = new AbortController();
  void stopping.then(() => ending.abort());
  try {
    // What would stop the start after a takeover is told now.
    requireSources(config.email);
    openEgresses(config.egress);
    const wish = readAloneWish(config.dataDir);
    if (wish !== null) return await startAlone(options, wish, ending.signal, () => lock.release());
    const lease = await standBy(options, ending.signal);
    if (lease === null) {
      lock.release();
      return null;
    }
    try {
      const started = await start({ ...options, lease }, "instance", () => lock.release());
      if (started.kind !== "instance") throw new Error("a start that was to act did not");
      const { app } = started;
      return {
        app,
        async stop(isHandOver) {
          await app.stop();
          if (isHandOver) await lease.holder.release();
          else lease.holder.end();
        },
      };
    } catch (error) {
      // Another machine may be able to start.
      await lease.holder.release().catch(() => undefined);
      throw error;
    }
  } catch (error) {
    lock.release();
    if (!ending.signal.aborted || !(error instanceof StartError)) throw error;
    // Most likely the stop is what ended a command of the start; whatever it was is in the log.
    environment.log.event("standby.start_ended", { reason: error.message }, "warn");
    return null;
  }
}

/** Without the lease, as a person has said. */
async function startAlone(
  options: AppOptions,
  wish: AloneWish,
  ending: AbortSignal,
  releaseLock: () => void,
): Promise<Node> {
  const { config, environment } = options;
  const { clock, random, log } = environment;
  const { dataDir } = config;
  const file = databaseFile(dataDir);
  const tools = await openTools(config.replication, { dataDir, database: file }, ending);
  await endOrphanDaemon(dataDir, file, clock);
  const state: NodeState = readNodeState(dataDir) ?? newNode(newId(clock.now(), random));
  // Opened where it is read: to find its region takes a service that may be away.
  const read = async () =>
    openLeaseObject(await openLeaseBucket(tools, config.standby.leaseMs / LOOKS_PER_LEASE, clock)).read();
  const alone = await bringAloneDatabase(state, wish, { config, environment, tools, object: { read } });
  writeNodeState(dataDir, { ...state, alone });
  log.event("standby.alone", {}, "warn");
  const started = await start(
    {
      ...options,
      config: { ...config, standby: { leaseMs: 0 }, replication: { ...config.replication, acknowledge: "disk" } },
      // The replica is that of the machine that had the lease.
      replica: { ...options.replica, takeOver: true, isNewest: !alone.isStarted },
      aloneSince: clock.now(),
    },
    "instance",
    releaseLock,
  );
  if (started.kind !== "instance") throw new Error("a start that was to act did not");
  try {
    writeNodeState(dataDir, { ...state, alone: { ...alone, isStarted: true } });
  } catch (error) {
    // The disk is full, for example. It works all the same, and the next start trusts its database once more.
    log.error("standby", error);
  }
  const { app } = started;
  return { app, stop: () => app.stop() };
}

type Term = HeldTerm & { holder: LeaseHolder };

async function standBy(options: AppOptions, ending: AbortSignal): Promise<Term | null> {
  const { config, environment } = options;
  const { clock, random, log, steady = clock } = environment;
  const { dataDir, replication, standby } = config;
  const file = databaseFile(dataDir);
  const tools = await openTools(replication, { dataDir, database: file }, ending);
  await endOrphanDaemon(dataDir, file, clock);
  const newNonce = () => newId(clock.now(), random);
  const bucket = await openLeaseBucket(tools, standby.leaseMs / LOOKS_PER_LEASE, clock);
  await requireConditionalWrites(bucket, newNonce(), replication.url ?? "");
  let state: NodeState = readNodeState(dataDir) ?? newNode(newNonce());
  const remember = (change: Partial<NodeState>) => writeNodeState(dataDir, (state = { ...state, ...change }));
  const known = state;
  const keyCheck = openKeyring(options.instanceKey, random).checkValue();
  const holder = new LeaseHolder({
    leaseMs: standby.leaseMs,
    object: openLeaseObject(bucket),
    self: { node: state.node, host: hostname(), keyCheck },
    nonces: state.nonces,
    remember: (nonces) => remember({ nonces }),
    newNonce,
    steady,
    clock,
    log,
  });
  const before = await awaitLease(holder, {
    options,
    keyCheck,
    known,
    mayBegin: existsSync(file),
    ending,
    sawTerm: (term) => {
      if (term === state.seen) return;
      try {
        remember({ seen: term });
      } catch (error) {
        // A full disk must not keep it from taking over.
        log.event("standby.unwritten", { reason: getErrorMessage(error) }, "warn");
      }
    },
    announce: () => announce(bucket, state.node, { host: hostname(), at: clock.now() }),
  });
  if (before === "stopped") return null;
  if (ending.aborted) {
    await holder.release().catch(() => undefined);
    return null;
  }
  // Said before it was needed: at a later start it would have two machines work.
  removeAloneWish(dataDir);
  holder.keep((reason) =>
    environment.fatal?.(
      `pombo ends here: ${reason}. Everything that was answered is in the replica. The service starts pombo again, and it stands by.`,
    ),
  );
  log.event("standby.took_over", {
    term: holder.term,
    before: before?.host ?? null,
    lineage: before?.lineage ?? null,
  });
  try {
    const startedAt = steady.now();
    const database = await bringDatabase(before, known, { config, environment, tools });
    remember({ term: holder.term, seen: holder.term });
    log.event("standby.database", { from: database, ms: Math.round(steady.now() - startedAt) });
    // Until then the record leads to a lineage without what was done alone, should another machine take over.
    const settled = () => remember({ alone: null });
    const standbys = new PresenceWatch(before, { bucket, node: state.node, steady, clock, log });
    return { holder, standbys, database, ...(known.alone === null ? {} : { settled }) };
  } catch (error) {
    await holder.release().catch(() => undefined);
    throw error;
  }
}

interface Waiting {
  options: AppOptions;
  keyCheck: string;
  known: NodeState;
  mayBegin: boolean;
  /** The term of the lease was seen. */
  sawTerm: (term: number) => void;
  /** Says in the bucket that this machine stands by. */
  announce: () => Promise<void>;
  ending: AbortSignal;
}

/** The lease before this term; null: there was none. */
async function awaitLease(holder: LeaseHolder, waiting: Waiting) {
  const { options, keyCheck, known, mayBegin, ending } = waiting;
  const { config, environment, portHint = "choose another port ([http] listen)" } = options;
  const { clock, log, steady = clock } = environment;
  const since = new Date(clock.now()).toISOString();
  let wake: () => void = () => undefined;
  ending.addEventListener("abort", () => wake());
  let reason = "This machine has just started, and reads the lease.";
  const answer = (request: Request) => answerStandingBy(request, reason, since);
  const server = bind({ ...config.http.listen, key: "[http] listen", portHint }, answer);
  const socket = listenOnSocket(getSocketFile(config.dataDir), (request) => Promise.resolve(answer(request)));
  log.event("standby.waits", { url: server.url });
  let announcedAt = -Infinity;
  try {
    while (!ending.aborted) {
      if (steady.now() - announcedAt >= ANNOUNCE_MS) {
        announcedAt = steady.now();
        // The reading below tells of a bucket that is away.
        void waiting.announce().catch(() => undefined);
      }
      let waitMs = config.standby.leaseMs / LOOKS_PER_LEASE;
      try {
        const looked = await holder.tryToTake((seen, isOwn) => {
          if (seen === null) return mayBegin;
          waiting.sawTerm(seen.term);
          requireSameKey(seen, keyCheck);
          requireNoSplit(known, seen, isOwn);
          return isOwn || seen.lineage !== "";
        });
        if ("taken" in looked) return looked.taken;
        waitMs = looked.waitMs;
        reason = describeSeen(holder);
      } catch (error) {
        if (error instanceof StartError) throw error;
        reason = `The lease cannot be read: ${getErrorMessage(error)}. pombo tries again every few seconds.`;
        log.event("standby.unreadable", { reason: getErrorMessage(error) }, "warn");
      }
      await new Promise<void>((resolve) => {
        const cancel = steady.after(waitMs, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
    return "stopped" as const;
  } finally {
    await Promise.all([server.stop(0), socket.stop(0)]);
  }
}

function requireSameKey(seen: LeaseRecord, keyCheck: string): void {
  if (seen.keyCheck === keyCheck) return;
  throw new StartError(
    `The instance key here is not that of ${seen.host}, which has the lease: pombo could not read its secrets here. Copy the file [secrets] instance_key_file from ${seen.host}.`,
  );
}

function describeSeen({ seen }: LeaseHolder): string {
  if (seen === null)
    return "There is no lease yet, and no database here: start pombo first on the machine that has the data.";
  if (seen.lineage === "")
    return `${seen.host} has the lease, and nothing of it is in the replica yet: only that machine can go on. If it is lost, stop pombo here, delete lease.json in the replica, and bring a backup back: pombo restore.`;
  return `This machine stands by: ${seen.host} has the lease (term ${seen.term}). It takes over by itself when ${seen.host} does not renew it any more.`;
}

function answerStandingBy(request: Request, reason: string, since: string): Response {
  const { pathname } = new URL(request.url, "http://localhost");
  if (pathname === "/health") return Response.json({ status: "alive" });
  if (pathname === "/ready")
    return Response.json(
      { status: "not ready", reason, issues: [{ component: "standby", reason, since }] },
      { status: 503 },
    );
  const message = `Nothing was accepted. ${reason}`;
  const hint = "Send the same request to the machine that works.";
  return Response.json(
    { errors: [{ code: "UNAVAILABLE", message, hint }] },
    { status: 503, headers: { "retry-after": "5", [STANDING_BY_HEADER]: "1" } },
  );
}
