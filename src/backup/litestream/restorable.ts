import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { DaemonState } from "./control.ts";
import type { ReplicaLook } from "./replica.ts";

// Checks every minute that the database could be restored from the replica now.
//
// The daemon does not see it when somebody empties the replica, or removes a part of it: it goes on adding steps to
// a snapshot that is gone. So the replica is listed, and when no restore would succeed the daemon is restarted to take
// a new snapshot.

const CHECK_EVERY_MS = 60_000;
/** A replica that cannot be restored from is checked more often: a first finding must repeat itself to be believed. */
const RECHECK_EVERY_MS = 10_000;
/** A new snapshot of a large database takes its time. The wait doubles, so that one of any size comes to its end. */
const FIRST_RENEWAL_WAIT_MS = 10 * 60_000;

interface RestorableDeps {
  look: () => Promise<ReplicaLook>;
  clock: Pick<Clock, "now">;
  log: Log;
  /** For tests. */
  everyMs?: number;
  recheckEveryMs?: number;
}

/** What to do with the daemon after a check. */
export type RestorableAction = "keep" | "restart";

export class RestorableCheck {
  readonly #deps: RestorableDeps;
  #isChecking = false;
  #nextAt = 0;
  /** A state of the daemon: once it has synced again, its transaction must be in the replica. */
  #noted: { transaction: number; lastSyncAt: number; at: number } | null = null;
  #failures = 0;
  #fault: { reason: string; since: number } | null = null;
  #nextRenewalAt = 0;
  #renewalWaitMs = FIRST_RENEWAL_WAIT_MS;
  /** Counts daemons: the finding about one says nothing of the next. */
  #daemon = 0;
  #daemonTakesSnapshots = false;

  constructor(deps: RestorableDeps) {
    this.#deps = deps;
  }

  /** Why nothing could be restored, and since when (Unix ms); null: it could. */
  get fault(): { reason: string; since: number } | null {
    return this.#fault;
  }

  /** Whether the daemon that starts now has to take a snapshot at once. */
  startDaemon(): boolean {
    this.#daemon += 1;
    this.#noted = null;
    this.#daemonTakesSnapshots = this.#fault !== null;
    this.#nextAt = this.#deps.clock.now() + this.#everyMs;
    return this.#daemonTakesSnapshots;
  }

  /** Called with each state of a daemon that is well; checks when it is time. */
  async observe(state: DaemonState): Promise<RestorableAction> {
    const { look, clock } = this.#deps;
    const now = clock.now();
    // Before its first sync the replica of a new database is rightly empty.
    if (this.#isChecking || state.lastSyncAt === null) return "keep";
    if (now < this.#nextAt && now >= this.#nextAt - CHECK_EVERY_MS) return "keep";
    const daemon = this.#daemon;
    this.#isChecking = true;
    try {
      const reason = this.#reasonAgainst(await look(), state.lastSyncAt);
      if (daemon !== this.#daemon || reason === undefined) return "keep";
      return reason === null ? this.#succeeded() : this.#failed(reason);
    } finally {
      this.#isChecking = false;
      this.#noted = { transaction: state.transaction, lastSyncAt: state.lastSyncAt, at: now };
      this.#nextAt = clock.now() + this.#everyMs;
    }
  }

  get #everyMs(): number {
    const { everyMs = CHECK_EVERY_MS, recheckEveryMs = RECHECK_EVERY_MS } = this.#deps;
    return this.#failures > 0 || this.#fault !== null ? recheckEveryMs : everyMs;
  }

  /** Null: it can be restored; undefined: nobody can say. */
  #reasonAgainst(look: ReplicaLook, lastSyncAt: number): string | null | undefined {
    switch (look.kind) {
      case "unreachable":
        return undefined;
      case "empty":
        return "it holds no snapshot";
      case "broken":
        return look.reason;
      case "backup": {
        const noted = this.#noted;
        // After it was noted, and not only by a clock that was set back in between.
        const isAgain = noted !== null && lastSyncAt > noted.at && lastSyncAt !== noted.lastSyncAt;
        const expected = isAgain ? noted.transaction : 0;
        return look.transaction >= expected
          ? null
          : `it ends at transaction ${look.transaction}, though ${expected} was copied`;
      }
    }
  }

  #succeeded(): RestorableAction {
    this.#failures = 0;
    if (this.#fault !== null) {
      this.#deps.log.event("replication.restorable", { forMs: this.#deps.clock.now() - this.#fault.since });
      this.#fault = null;
      this.#renewalWaitMs = FIRST_RENEWAL_WAIT_MS;
      this.#nextRenewalAt = 0;
    }
    // One that takes a snapshot every few seconds has done its work.
    return this.#daemonTakesSnapshots ? "restart" : "keep";
  }

  #failed(reason: string): RestorableAction {
    const { clock, log } = this.#deps;
    const now = clock.now();
    this.#failures += 1;
    if (this.#failures === 1 && this.#fault === null) return "keep";
    if (this.#fault === null) {
      const words = "something removed files from the replica; a new snapshot is taken";
      log.event("replication.not_restorable", { reason, words }, "warn");
    }
    this.#fault = { reason, since: this.#fault?.since ?? now };
    // Not before the last one: the clock may have been set back, and the wait would be as long as that.
    const lastAt = this.#nextRenewalAt - this.#renewalWaitMs / 2;
    if (now >= lastAt && now < this.#nextRenewalAt) return "keep";
    this.#nextRenewalAt = now + this.#renewalWaitMs;
    this.#renewalWaitMs *= 2;
    return "restart";
  }
}
