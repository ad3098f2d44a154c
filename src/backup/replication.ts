import { existsSync } from "node:fs";
import type { Environment } from "../platform/environment.ts";
import type { Config } from "../config/config.ts";
import { countChanges, disableCheckpoints, enableCheckpoints, getWalBytes } from "../platform/db/wal.ts";
import type { Commit } from "../platform/db/group-commit.ts";
import type { Db } from "../platform/db/open.ts";
import { drillReplica } from "./restore-drill.ts";
import { StartError } from "../platform/errors.ts";
import { newId } from "../platform/uuid.ts";
import { bridgeNumbers, isDamageWords } from "./litestream/bridge.ts";
import { controlBy } from "./litestream/control.ts";
import { type Drill, readDrill, WeeklyDrill } from "./litestream/drill-schedule.ts";
import { judgeEmpty, judgeReplica, type Verdict } from "./litestream/compare-replica.ts";
import { KeptMarker } from "./litestream/write-marker.ts";
import { doubtWaiting } from "../platform/db/inspect-file.ts";
import { type Mark, nextBoot, pastOf, readMark, readMarker, writeMarker } from "./litestream/marker.ts";
import { endOrphan } from "./litestream/orphan.ts";
import { type Owner, writeOwner } from "./litestream/replica-owner.ts";
import { localTransaction, lookAtReplica, ownerOfReplica, type ReplicaLook } from "./litestream/replica.ts";
import { sameDiskWords } from "./litestream/same-disk.ts";
import { RestorableCheck } from "./litestream/restorable.ts";
import { spawnDaemon } from "./litestream/spawn.ts";
import { type ReplicationStatus, Supervisor } from "./litestream/supervisor.ts";
import { type DaemonTools, openTools } from "./litestream/tools.ts";
import { registerReplication } from "./metrics.ts";
import type { Registry } from "../platform/metrics/registry.ts";
import type { DeliveryPause } from "../platform/queue/delivery-pause.ts";
import type { OpenThread } from "../platform/worker-threads/worker-thread.ts";
import type { HealthIssue } from "../platform/health-issue.ts";
import { forgetPutBack, isPutBack } from "../platform/update/recover.ts";
import type { InstanceSettings } from "../platform/db/instance-settings.ts";

// The replicating part of the composition root, and what tells a database of an earlier time. In order: a daemon
// that outlived its pombo is ended; what is in the replica is looked at; this start is written down, in the
// database, in the marker beside it and in the replica; the daemon is started.

/** What the operator chose on the command line. */
export interface ReplicaChoice {
  /** An empty data directory, though the replica holds a backup. */
  startEmpty?: boolean;
  /** The replica is somebody else's, who will never run again. */
  takeOver?: boolean;
}

export interface ReplicatorDeps {
  config: Config;
  databaseFile: string;
  environment: Environment;
  db: Db;
  settings: Pick<InstanceSettings, "get" | "set">;
  commit: Commit;
  pause: DeliveryPause;
  registry: Registry;
  openThread: OpenThread;
  choice: ReplicaChoice;
}

export interface Replicator {
  /** Null: nothing is replicated. */
  status(): ReplicationStatus | null;
  /** The last restore drill; null: there was none. */
  drill(): Drill | null;
  readonly issue: HealthIssue | null;
  /** What else the operator should know of the replica; null: nothing. */
  readonly advice: string | null;
  /** Before the last commits of a stop. */
  settle: () => Promise<void>;
  /** After the database was closed: all is copied and the daemon ends, within `limitMs`. */
  end(limitMs: number): Promise<void>;
}

/** How long the replica may take to be looked at where a start depends on it, and where it does not. */
const LOOK_LIMIT_MS = 30_000;
const SHORT_LOOK_LIMIT_MS = 15_000;

export function isReplicated({ replication }: Config): boolean {
  return replication.url !== null;
}

/** For a data directory without a database. Throws StartError where the replica holds one, or cannot be asked. */
export async function requireNoBackup(config: Config, databaseFile: string, choice: ReplicaChoice): Promise<void> {
  const { url } = config.replication;
  if (url === null || !existsSync(config.dataDir)) return;
  const tools = await openTools(config.replication, { dataDir: config.dataDir, database: databaseFile });
  requireGo(judgeEmpty(await lookAtReplica(tools, { limitMs: LOOK_LIMIT_MS }), url, choice.startEmpty ?? false));
}

/** Writes this start down and begins to replicate. Throws StartError where the replica may not be written to. */
export async function startReplicator(deps: ReplicatorDeps): Promise<Replicator> {
  const { config, environment, db, settings, commit, pause, registry } = deps;
  const { clock } = environment;
  const { dataDir, replication } = config;
  const tools = await toolsOf(deps);
  const mark = await writeStart(deps, tools);
  const kept = new KeptMarker({
    dataDir,
    mark,
    changes: () => countChanges(db),
    write: (value) => {
      settings.set("marker", value);
      noteTime(deps);
    },
    commit,
    ...environment,
  });
  kept.start();
  forgetPutBack(dataDir);
  const advice = sameDiskWords(replication.url ?? "", dataDir);
  if (advice !== null) environment.log.event("replication.same_disk", { words: advice }, "warn");
  const supervisor = tools === null ? null : supervisorOf(deps, tools);
  const owner = {
    instance: settings.get("instance_id") ?? "",
    boot: mark.boots[0] ?? "",
    host: tools?.host ?? "",
    startedAt: clock.now(),
    endedAt: null,
  };
  if (tools !== null) writeOwner(tools.places.owner, owner);
  supervisor?.start();
  const drills = tools === null ? null : drillsOf(deps);
  drills?.start();
  const seen = {
    status: () => supervisor?.status ?? null,
    drill: () => drills?.last ?? null,
  };
  registerReplication(registry, { ...seen, isPaused: () => pause.isPaused, clock: environment.clock });
  return {
    ...seen,
    advice,
    get issue() {
      return supervisor?.trouble ?? drills?.issue ?? null;
    },
    async settle() {
      await drills?.stop();
      await kept.stop();
    },
    async end(limitMs) {
      if (tools === null) return;
      try {
        writeOwner(tools.places.owner, { ...owner, endedAt: clock.now() });
      } catch (error) {
        // A full disk, say: what is committed is copied all the same, and the daemon must not outlive us.
        environment.log.event("replication.owner_unwritten", { reason: reasonOf(error) }, "warn");
      }
      await supervisor?.stop(limitMs);
    },
  };

  async function toolsOf({ databaseFile }: ReplicatorDeps): Promise<DaemonTools | null> {
    if (replication.url === null) return null;
    const opened = await openTools(replication, { dataDir, database: databaseFile });
    const orphan = await endOrphan(opened, controlBy(opened.places.socket), clock);
    if (orphan !== null) environment.log.event("replication.orphan", { pid: orphan }, "warn");
    return opened;
  }
}

/** Commits this start's mark; of a database of an earlier time with delivery paused and what waits in it in doubt. */
async function writeStart(deps: ReplicatorDeps, tools: DaemonTools | null): Promise<Mark> {
  const { config, environment, db, settings, commit, pause } = deps;
  const { dataDir } = config;
  const database = readMark(settings.get("marker"));
  const marker = readMarker(dataDir);
  const behind = tools === null ? null : await behindReplica(deps, tools, database);
  // An update that went back: behind, and nothing was sent.
  const past = isPutBack(dataDir) ? null : (pastOf(database, marker) ?? behind);
  // The very first start: cut off behind its commit, it would leave a database without its marker.
  if (database === null && marker === null) writeMarker(dataDir, { boots: [], transaction: 0 });
  // In one batch: a start that is cut off between the two must not be taken for the next one's past.
  const mark = nextBoot(database, marker, newId(environment.clock.now(), environment.random));
  const paused = past === null ? null : pause.begin(past);
  const written = commit(() => {
    settings.set("marker", JSON.stringify(mark));
    noteTime(deps);
    if (past !== null) doubtWaiting(db.sqlite);
  });
  await Promise.all([paused, written]);
  if (past !== null) environment.log.event("delivery.paused", { reason: past }, "warn");
  return mark;
}

/** It goes back only when all that waits has followed a clock that was set back: platform/clock-step-watch.ts. */
function noteTime({ environment, settings }: ReplicatorDeps): void {
  const lastAt = Number(settings.get("last_at") ?? 0);
  settings.set("last_at", String(Math.max(lastAt, environment.clock.now())));
}

/** Why the replica shows this database to be one of an earlier time; null: it does not. */
async function behindReplica(
  { config, environment, settings, choice }: ReplicatorDeps,
  tools: DaemonTools,
  database: Mark | null,
): Promise<string | null> {
  const url = config.replication.url ?? "";
  const boots = database?.boots ?? [];
  const look = await lookAtReplica(tools, { limitMs: boots.length === 0 ? LOOK_LIMIT_MS : SHORT_LOOK_LIMIT_MS });
  const { owner, reason } = await ownerBeside(look, tools, boots.length > 0);
  if (reason !== null) environment.log.event("replication.unreachable", { reason }, "warn");
  // Mail does not wait for a replica whose owner cannot be read at the moment.
  const verdict = judgeReplica({
    look: look.kind !== "empty" && reason !== null ? { kind: "unreachable", reason } : look,
    owner,
    instance: settings.get("instance_id") ?? "",
    boots,
    local: localTransaction(tools.places.state),
    url,
    startEmpty: choice.startEmpty ?? false,
    takeOver: (choice.takeOver ?? false) || isPutBack(config.dataDir),
  });
  requireGo(verdict);
  return verdict.kind === "behind" ? verdict.reason : null;
}

/** `reason`: why it cannot be seen, null: it can. */
async function ownerBeside(
  look: ReplicaLook,
  tools: DaemonTools,
  isAsked: boolean,
): Promise<{ owner: Owner | null; reason: string | null }> {
  if (look.kind === "unreachable") return { owner: null, reason: look.reason };
  if (look.kind === "empty" || !isAsked) return { owner: null, reason: null };
  try {
    return { owner: await ownerOfReplica(tools, SHORT_LOOK_LIMIT_MS), reason: null };
  } catch (error) {
    return { owner: null, reason: reasonOf(error) };
  }
}

function drillsOf({ config, environment, openThread }: ReplicatorDeps): WeeklyDrill {
  return new WeeklyDrill({
    last: () => readDrill(config.dataDir),
    run: (signal) => drillReplica({ config, environment, openThread, signal }),
    ...environment,
  });
}

function supervisorOf({ databaseFile, environment, db }: ReplicatorDeps, tools: DaemonTools): Supervisor {
  const { places } = tools;
  return new Supervisor({
    prepare: async (isDamaged) => {
      const bridged = await bridgeNumbers(tools, { at: environment.clock.now(), limitMs: LOOK_LIMIT_MS, isDamaged });
      if (typeof bridged === "string") return bridged;
      for (const each of bridged) environment.log.event("replication.bridged", { ...each });
      return null;
    },
    isDamage: (words) => isDamageWords(words, places),
    spawn: (line, snapshotNow) => spawnDaemon(tools, line, snapshotNow),
    restorable: new RestorableCheck({ look: () => lookAtReplica(tools, { limitMs: LOOK_LIMIT_MS }), ...environment }),
    control: controlBy(places.socket),
    databases: { main: places.database, owner: places.owner },
    checkpoints: {
      leave: () => disableCheckpoints(db),
      take: () => enableCheckpoints(db),
      walBytes: () => getWalBytes(databaseFile),
    },
    clock: environment.clock,
    steady: environment.steady ?? environment.clock,
    log: environment.log,
  });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function requireGo(verdict: Verdict): void {
  if (verdict.kind === "refused") throw new StartError(verdict.words);
}
