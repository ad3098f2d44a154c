import type { Drill } from "./restore-drill.ts";
import type { ReplicationStatus } from "./litestream/supervisor.ts";
import type { Registry } from "../platform/metrics/registry.ts";

/** From a folder on another disk to a service far away that has a bad day. */
const SYNC_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface ReplicationSources {
  /** Null: nothing is replicated, and the figures are not shown. */
  status: () => ReplicationStatus | null;
  /** The last restore drill. */
  drill: () => Drill | null;
  isPaused: () => boolean;
}

/** Registers what is read of the replication, and whether delivery is paused. */
/** Where [replication] acknowledge = "replica". Called with how long a sync took, ms. */
export function createReplicaWaits(registry: Registry): (durationMs: number) => void {
  const waits = registry.histogram(
    {
      name: "pombo_replication_sync_duration_seconds",
      help: "How long the replica took to have what was committed, where answers wait for it.",
    },
    SYNC_SECONDS,
  );
  return (durationMs) => waits.observe(durationMs / 1_000);
}

export function registerReplication(registry: Registry, { status, drill, isPaused }: ReplicationSources): void {
  const figure = (name: string, help: string, read: (figures: ReplicationStatus) => number | null) =>
    registry.read({ name, help, type: name.endsWith("_total") ? "counter" : "gauge" }, () => {
      const figures = status();
      return figures === null ? null : read(figures);
    });
  figure("pombo_replication_up", "1 while the replication daemon runs and answers, else 0.", ({ isRunning }) =>
    isRunning ? 1 : 0,
  );
  figure(
    "pombo_replication_lag_seconds",
    "Time since everything was replicated, measured every five seconds.",
    ({ lagMs }) => lagMs / 1_000,
  );
  figure(
    "pombo_replication_last_sync_timestamp_seconds",
    "When everything was replicated last, Unix time.",
    ({ lastSyncAt }) => (lastSyncAt === null ? null : lastSyncAt / 1_000),
  );
  figure(
    "pombo_replication_restorable",
    "1 while the database could be restored from the replica, checked each minute, else 0.",
    ({ isRestorable }) => (isRestorable ? 1 : 0),
  );
  figure(
    "pombo_replication_restarts_total",
    "Times that the replication daemon ended by itself.",
    ({ restarts }) => restarts,
  );
  figure("pombo_restore_drill_success", "1 when the last restore drill succeeded, else 0.", () => {
    const last = drill();
    return last === null ? null : Number(last.outcome === "good");
  });
  figure(
    "pombo_restore_drill_last_success_timestamp_seconds",
    "When a restore drill last succeeded, Unix time.",
    () => {
      const goodAt = drill()?.goodAt ?? null;
      return goodAt === null ? null : goodAt / 1_000;
    },
  );
  registry.read(
    { name: "pombo_delivery_paused", help: "1 while delivery waits for the operator.", type: "gauge" },
    () => (isPaused() ? 1 : 0),
  );
}
