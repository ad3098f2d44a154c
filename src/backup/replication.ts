// Starts replication, and recognizes a database of an earlier time. In order: a daemon that outlived its pombo is
// ended; the replica is inspected; this start is recorded, in the database, in the marker beside it and in the
// replica; the daemon is started.

import { existsSync, rmSync } from "node:fs";
import type { Environment } from "../platform/context.ts";
import type { Config } from "../config/config.ts";
import { countChanges, disableCheckpoints, enableCheckpoints, getWalBytes } from "../platform/db/wal.ts";
import type { Commit } from "../platform/db/group-commit.ts";
import type { Db } from "../platform/db/open.ts";
import { getErrorMessage, StartError } from "../platform/errors.ts";
import { newId } from "../platform/uuid.ts";
import { inspectReplica, removeCatalogScratch } from "./litestream/catalog.ts";
import { openControl } from "./litestream/control.ts";
import { endOrphan, spawnDaemon } from "./litestream/daemon-process.ts";
import { findLocalLineage, Lineages } from "./litestream/lineages.ts";
import {
  buildNextMark,
  explainStaleDatabase,
  type Mark,
  MarkerWriter,
  parseMark,
  readMarker,
  writeMarker,
} from "./litestream/marker.ts";
import { writeRecord } from "./litestream/record.ts";
import { listLocalSteps, type Owner, readOwner } from "./litestream/replica.ts";
import { classifyForEmpty, classifyReplica } from "./litestream/replica-verdict.ts";
import { RestorableCheck } from "./litestream/restorable.ts";
import { describeSameDisk } from "./litestream/same-disk.ts";
import { type ReplicationStatus, Supervisor } from "./litestream/supervisor.ts";
import { type DaemonTools, openTools } from "./litestream/tools.ts";
import { type Drill, drillReplica, readDrill, WeeklyDrill } from "./restore-drill.ts";
import { settleEarlierTime } from "../platform/db/file/earlier-time.ts";
import { registerReplication } from "./metrics.ts";
import type { ReplicaBarrier } from "./replica-barrier.ts";
import { ReplicaProgress } from "./replica-progress.ts";
import type { HeldTerm } from "./standby/takeover.ts";
import type { Registry } from "../platform/metrics/registry.ts";
import type { DeliveryPause } from "../platform/queue/delivery-pause.ts";
import type { OpenThread } from "../platform/worker-threads/worker-thread.ts";
import type { HealthIssue } from "../platform/health-issue.ts";
import { clearRollbackMark, isRolledBack } from "../platform/update/recover.ts";
import type { InstanceSettings } from "../platform/db/instance-settings.ts";

/** What the operator chose on the command line. */
export interface ReplicaChoice {
  /** An empty data directory, though the replica holds a backup. */
  startEmpty?: boolean;
  /** The database is known, or said by a person, to be the newest: nothing is paused for its age. */
  isNewest?: boolean;
  /** The replica belongs to another instance, which will never run again. */
  takeOver?: boolean;
}

export interface ReplicatorDeps {
  config: Config;
  databaseFile: string;
  environment: Environment;
  db: Db;
  settings: Pick<InstanceSettings, "get" | "set">;
  /** Waits for no replica: it is before one is written to. */
  commit: Commit;
  pause: DeliveryPause;
  registry: Registry;
  /** Null: nothing waits for the replica. */
  barrier: ReplicaBarrier | null;
  /** Null: this is the only machine. */
  lease: HeldTerm | null;
  openThread: OpenThread;
  choice: ReplicaChoice;
}

export interface Replicator {
  /** Null: nothing is replicated. */
  status(): ReplicationStatus | null;
  /** The last restore drill; null: there was none. */
  drill(): Drill | null;
  readonly issue: HealthIssue | null;
  /** Further advice about the replica for the operator; null: none. */
  readonly advice: string | null;
  /** Before the last commits of a stop. */
  settle: () => Promise<void>;
  /** After the database was closed: all is copied and the daemon ends, within `limitMs`. */
  end(limitMs: number): Promise<void>;
}

/** How long an inspection of the replica may take where a start depends on it, and where it does not. */
const INSPECT_LIMIT_MS = 30_000;
const SHORT_INSPECT_LIMIT_MS = 15_000;

export function isReplicated({ replication }: Config): boolean {
  return replication.url !== null;
}

/** For a data directory without a database. Throws StartError where the replica holds one, or cannot be asked. */
export async function requireNoBackup(config: Config, databaseFile: string, choice: ReplicaChoice): Promise<void> {
  const { url } = config.replication;
  if (url === null || !existsSync(config.dataDir)) return;
  const tools = await openTools(config.replication, { dataDir: config.dataDir, database: databaseFile });
  const { replica } = await inspectReplica(tools, { limitMs: INSPECT_LIMIT_MS });
  const verdict = classifyForEmpty(replica, url, choice.startEmpty ?? false);
  if (verdict.kind === "refused") throw new StartError(verdict.words);
}

/** Records this start and begins to replicate. Throws StartError where the replica may not be written to. May be called again after a storage error. */
export async function startReplicator(deps: ReplicatorDeps): Promise<Replicator> {
  const { config, environment, db, settings, commit, pause, registry } = deps;
  const { clock } = environment;
  const { dataDir, replication } = config;
  const tools = await openReplicaTools(deps);
  const mark = await recordStart(deps, tools);
  const owner: Owner = {
    instance: settings.get("instance_id") ?? "",
    boot: mark.boots[0] ?? "",
    host: tools?.host ?? "",
    startedAt: clock.now(),
    endedAt: null,
  };
  if (tools !== null) writeRecord(tools.places.owner, owner);
  const marker = new MarkerWriter({
    dataDir,
    mark,
    changes: () => countChanges(db),
    write: (value) => {
      settings.set("marker", value);
      recordTime(deps);
    },
    commit,
    ...environment,
  });
  marker.start();
  clearRollbackMark(dataDir);
  const advice = describeSameDisk(replication.url ?? "", dataDir);
  if (advice !== null) environment.log.event("replication.same_disk", { words: advice }, "warn");
  const supervisor = tools === null ? null : startSupervisor(deps, tools, owner);
  const drills = tools === null ? null : createWeeklyDrill(deps);
  drills?.start();
  const seen = {
    status: () => supervisor?.status ?? null,
    drill: () => drills?.last ?? null,
  };
  registerReplication(registry, { ...seen, isPaused: () => pause.isPaused });
  return {
    ...seen,
    advice,
    get issue() {
      return supervisor?.issue ?? drills?.issue ?? null;
    },
    async settle() {
      await drills?.stop();
      await marker.stop();
    },
    async end(limitMs) {
      if (tools === null) return;
      try {
        writeRecord(tools.places.owner, { ...owner, endedAt: clock.now() });
      } catch (error) {
        // A full disk, for example: what is committed is copied all the same, and the daemon must not outlive us.
        environment.log.event("replication.owner_unwritten", { reason: getErrorMessage(error) }, "warn");
      }
      await supervisor?.stop(limitMs);
    },
  };
}

async function openReplicaTools({ config, databaseFile, environment }: ReplicatorDeps): Promise<DaemonTools | null> {
  const { dataDir, replication } = config;
  if (replication.url === null) return null;
  const tools = await openTools(replication, { dataDir, database: databaseFile });
  const orphan = await endOrphan(tools, openControl(tools.places.socket), environment.clock);
  if (orphan !== null) environment.log.event("replication.orphan", { pid: orphan }, "warn");
  removeCatalogScratch(tools.folder);
  return tools;
}

/** Commits this start's mark. In a database of an earlier time delivery is paused, what waits becomes uncertain, and sign-ins end. */
async function recordStart(deps: ReplicatorDeps, tools: DaemonTools | null): Promise<Mark> {
  const { config, environment, db, settings, commit, pause } = deps;
  const { dataDir } = config;
  const database = parseMark(settings.get("marker"));
  const marker = readMarker(dataDir);
  const past = await findPast(deps, { tools, database, marker });
  // The steps that the daemon has here are of another time: it begins a lineage.
  if (past !== null && tools !== null) rmSync(tools.places.lineages, { recursive: true, force: true });
  // The very first start: cut off behind its commit, it would leave a database without its marker.
  if (database === null && marker === null) writeMarker(dataDir, { boots: [], transaction: 0 });
  // In one batch: a start that is cut off between the two must not be taken for the next one's past.
  const mark = buildNextMark(database, marker, newId(environment.clock.now(), environment.random));
  const paused = past === null ? null : pause.begin(past);
  const written = commit(() => {
    settings.set("marker", JSON.stringify(mark));
    recordTime(deps);
    if (past !== null) settleEarlierTime(db.sqlite, environment.clock.now());
  });
  await Promise.all([paused, written]);
  if (past !== null) environment.log.event("delivery.paused", { reason: past }, "warn");
  return mark;
}

/** Why the database is one of an earlier time, as a sentence; null: it is not. */
async function findPast(
  deps: ReplicatorDeps,
  { tools, database, marker }: { tools: DaemonTools | null; database: Mark | null; marker: Mark | null },
): Promise<string | null> {
  const from = deps.lease?.database ?? "first";
  if (from === "replica" || deps.choice.isNewest === true) return null;
  // A later term has the newest database, whatever a machine that lost the lease may still write to the replica.
  const behind = tools === null || from === "here" ? null : await compareWithReplica(deps, tools, database);
  // An update that went back: behind, and nothing was sent.
  return isRolledBack(deps.config.dataDir) ? null : (explainStaleDatabase(database, marker) ?? behind);
}

/** It goes back only when all that waits has followed a clock that was set back: platform/clock-step-watch.ts. */
function recordTime({ environment, settings }: ReplicatorDeps): void {
  const lastAt = Number(settings.get("last_at") ?? 0);
  settings.set("last_at", String(Math.max(lastAt, environment.clock.now())));
}

/** Why the replica shows this database to be one of an earlier time; null: it does not. */
async function compareWithReplica(
  { config, environment, settings, choice }: ReplicatorDeps,
  tools: DaemonTools,
  database: Mark | null,
): Promise<string | null> {
  const boots = database?.boots ?? [];
  const found = await inspectReplica(tools, {
    limitMs: boots.length === 0 ? INSPECT_LIMIT_MS : SHORT_INSPECT_LIMIT_MS,
  });
  let { replica } = found;
  let owner: Owner | null = null;
  // Mail does not wait for a replica whose owner or catalog cannot be read at the moment.
  try {
    if (boots.length > 0) owner = await readOwner(tools, found.lineages, SHORT_INSPECT_LIMIT_MS);
    if (boots.length > 0 && replica.kind === "broken" && owner === null) replica = { ...replica, kind: "unreachable" };
  } catch (error) {
    replica = { kind: "unreachable", reason: getErrorMessage(error) };
  }
  if (replica.kind === "unreachable")
    environment.log.event("replication.unreachable", { reason: replica.reason }, "warn");
  const verdict = classifyReplica({
    replica,
    owner,
    instance: settings.get("instance_id") ?? "",
    boots,
    newest: found.lineages.at(-1)?.id ?? "",
    local: findLocal(tools),
    url: config.replication.url ?? "",
    startEmpty: choice.startEmpty ?? false,
    takeOver: (choice.takeOver ?? false) || isRolledBack(config.dataDir),
  });
  if (verdict.kind === "refused") throw new StartError(verdict.words);
  return verdict.kind === "behind" ? verdict.reason : null;
}

function findLocal({ places }: DaemonTools) {
  const lineage = findLocalLineage(places);
  return lineage === null ? null : { lineage, transaction: listLocalSteps(places, lineage, "database").at(-1) ?? 0 };
}

function createWeeklyDrill({ config, environment, openThread }: ReplicatorDeps): WeeklyDrill {
  return new WeeklyDrill({
    last: () => readDrill(config.dataDir),
    run: (signal) => drillReplica({ config, environment, openThread, signal }),
    ...environment,
  });
}

function startSupervisor(deps: ReplicatorDeps, tools: DaemonTools, owner: Owner): Supervisor {
  const { databaseFile, environment, db } = deps;
  const { places } = tools;
  const { instance, boot } = owner;
  const { clock, random, log } = environment;
  const steady = environment.steady ?? clock;
  const lineages = new Lineages({ tools, instance, boot, limitMs: INSPECT_LIMIT_MS, clock, steady, random, log });
  const supervisor = new Supervisor({
    lineages,
    spawn: (line) => spawnDaemon(tools, line),
    restorable: new RestorableCheck({
      inspect: () => lineages.inspect(),
      settle: (lineage) => lineages.settle(lineage),
      isRenewalDue: () => lineages.renewalWaitMs === 0,
      clock,
      log,
    }),
    control: openControl(places.socket),
    databases: { main: places.database, owner: places.owner },
    checkpoints: {
      leave: () => disableCheckpoints(db),
      take: () => enableCheckpoints(db),
      walBytes: () => getWalBytes(databaseFile),
    },
    clock,
    steady,
    log,
  });
  supervisor.start();
  const replica = new ReplicaProgress({
    sync: (limitMs) => supervisor.sync(limitMs),
    lineage: () => lineages.current,
    changes: () => countChanges(db),
    change: () => deps.commit(() => deps.settings.set("last_write", `${clock.now()} ${newId(clock.now(), random)}`)),
    log,
  });
  deps.barrier?.attach(async (limitMs) => {
    const lineage = await replica.advance(limitMs);
    return lineage !== null && (deps.lease === null || (await deps.lease.holder.confirm(lineage)));
  });
  // Nobody waits yet; but only what the replica has can be taken over.
  deps.barrier?.kept().catch(() => undefined);
  return supervisor;
}
