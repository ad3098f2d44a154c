import type { Clock } from "../platform/clock.ts";
import type { Drill } from "./restore-drill.ts";
import type { ReplicationStatus } from "./litestream/supervisor.ts";
import type { Registry } from "../platform/metrics/registry.ts";

interface ReplicationSources {
  /** Null: nothing is replicated, and the figures are not shown. */
  status: () => ReplicationStatus | null;
  /** The last restore drill. */
  drill: () => Drill | null;
  isPaused: () => boolean;
  clock: Pick<Clock, "now">;
}

/** Registers what is read of the replication, and whether delivery is paused. */
export function registerReplication(registry: Registry, { status, drill, isPaused, clock }: ReplicationSources): void {
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
    "Since everything was replicated; looked at every five seconds.",
    ({ lagMs }) => lagMs / 1_000,
  );
  figure("pombo_replication_last_sync_time_seconds", "When that was, Unix time.", ({ lastSyncAt }) =>
    lastSyncAt === null ? null : lastSyncAt / 1_000,
  );
  figure(
    "pombo_replication_restorable",
    "1 while the database could be restored from the replica, checked each minute, else 0.",
    ({ isRestorable }) => (isRestorable ? 1 : 0),
  );
  figure("pombo_replication_restarts_total", "Times that the daemon ended by itself.", ({ restarts }) => restarts);
  figure("pombo_restore_drill_good", "1 when the last restore drill went well, else 0.", () => {
    const last = drill();
    return last === null ? null : Number(last.outcome === "good");
  });
  figure("pombo_restore_drill_age_seconds", "Since the last good restore drill.", () => {
    const goodAt = drill()?.goodAt ?? null;
    return goodAt === null ? null : (clock.now() - goodAt) / 1_000;
  });
  registry.read(
    { name: "pombo_delivery_paused", help: "1 while delivery waits for the operator.", type: "gauge" },
    () => (isPaused() ? 1 : 0),
  );
}
