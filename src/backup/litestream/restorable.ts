// Checks every minute that the database could be restored from the replica now.
//
// The daemon does not notice when files are removed from the replica: it goes on adding steps to a copy that is gone.
// So the replica is listed, and when no restore would succeed a new lineage is begun.

import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { DaemonState } from "./control.ts";
import type { ReplicaState } from "./replica.ts";

const CHECK_EVERY_MS = 60_000;
/** A replica that cannot be restored from is checked more often: a first finding must repeat itself to be believed. */
const RECHECK_EVERY_MS = 10_000;

interface RestorableDeps {
  /** What a restore would find of the current lineage. */
  inspect: () => Promise<ReplicaState>;
  /** Called whenever this lineage was found whole. */
  settle: (lineage: string) => Promise<void>;
  /** Whether a new lineage may be begun. */
  isRenewalDue: () => boolean;
  clock: Pick<Clock, "now">;
  log: Log;
  /** For tests. */
  everyMs?: number;
  recheckEveryMs?: number;
}

export class RestorableCheck {
  readonly #deps: RestorableDeps;
  #isChecking = false;
  #nextAt = 0;
  /** A state of the daemon: once it has synced again, its transaction must be in the replica. */
  #noted: { transaction: number; lastSyncAt: number; at: number } | null = null;
  #failures = 0;
  #fault: { reason: string; since: number } | null = null;
  /** Counts daemons: the finding about one says nothing of the next. */
  #daemon = 0;

  constructor(deps: RestorableDeps) {
    this.#deps = deps;
  }

  /** Why nothing could be restored, and since when (Unix ms); null: it could. */
  get fault(): { reason: string; since: number } | null {
    return this.#fault;
  }

  /** A daemon is started: what was found of the one before says nothing of it. */
  startDaemon(): void {
    this.#daemon += 1;
    this.#noted = null;
    this.#nextAt = this.#deps.clock.now() + this.#everyMs;
  }

  /** Called with each state of a daemon; checks when it is time. Why a new lineage is needed; null: it is not. */
  async observe(state: DaemonState): Promise<string | null> {
    const { inspect, clock } = this.#deps;
    const now = clock.now();
    // Before its first sync the replica of a new database is rightly empty.
    if (this.#isChecking || state.lastSyncAt === null) return null;
    if (now < this.#nextAt && now >= this.#nextAt - CHECK_EVERY_MS) return null;
    const daemon = this.#daemon;
    this.#isChecking = true;
    try {
      const found = await inspect();
      const reason = this.#findFault(found, state.lastSyncAt);
      if (daemon !== this.#daemon || reason === undefined) return null;
      if (reason !== null) return this.#isRenewalDue(reason) ? reason : null;
      if (found.kind === "backup") await this.#succeed(found.lineage);
      return null;
    } finally {
      this.#isChecking = false;
      if (state.transaction !== null)
        this.#noted = { transaction: state.transaction, lastSyncAt: state.lastSyncAt, at: now };
      this.#nextAt = clock.now() + this.#everyMs;
    }
  }

  get #everyMs(): number {
    const { everyMs = CHECK_EVERY_MS, recheckEveryMs = RECHECK_EVERY_MS } = this.#deps;
    return this.#failures > 0 || this.#fault !== null ? recheckEveryMs : everyMs;
  }

  /** Null: it can be restored; undefined: that cannot be seen. */
  #findFault(found: ReplicaState, lastSyncAt: number): string | null | undefined {
    switch (found.kind) {
      case "unreachable":
        return undefined;
      case "empty":
        return "it holds no snapshot";
      case "broken":
        return found.reason;
      case "backup": {
        const noted = this.#noted;
        // After it was noted, and not only by a clock that was set back in between.
        const isAgain = noted !== null && lastSyncAt > noted.at && lastSyncAt !== noted.lastSyncAt;
        const expected = isAgain ? noted.transaction : 0;
        return found.transaction >= expected
          ? null
          : `it ends at transaction ${found.transaction}, though ${expected} was copied`;
      }
    }
  }

  async #succeed(lineage: string): Promise<void> {
    const { clock, log, settle } = this.#deps;
    const now = clock.now();
    this.#failures = 0;
    if (this.#fault !== null) {
      log.event("replication.restorable", { forMs: now - this.#fault.since });
      this.#fault = null;
    }
    await settle(lineage);
  }

  #isRenewalDue(reason: string): boolean {
    const { clock, log } = this.#deps;
    const now = clock.now();
    this.#failures += 1;
    if (this.#failures === 1 && this.#fault === null) return false;
    if (this.#fault === null) {
      const words = "a new copy of the whole database is made, in a lineage of its own";
      log.event("replication.not_restorable", { reason, words }, "warn");
    }
    this.#fault = { reason, since: this.#fault?.since ?? now };
    return this.#deps.isRenewalDue();
  }
}
