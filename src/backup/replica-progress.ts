// Checks that the replica has advanced: the daemon's own answer is not enough.
//
// A daemon that sees no change of the database answers that all is copied. So after rows were changed its number must have
// grown. Rows of a transaction that was rolled back count as changed too, and no number grows for them: then one is changed
// on purpose.

import type { Log } from "../platform/log.ts";

export interface ReplicaProgressDeps {
  /** Has all that is committed copied; the number of the last transaction in the replica; null: it was not. */
  sync: (limitMs: number) => Promise<number | null>;
  /** The lineage that is written to; null: none. */
  lineage: () => string | null;
  /** Rows changed so far. */
  changes: () => number;
  /** Changes one, and resolves when that is committed. */
  change: () => Promise<unknown>;
  log: Pick<Log, "event">;
}

const BLIND =
  "Litestream says that all is copied, and does not see the last changes. Nothing is answered until it does: restart pombo";

export class ReplicaProgress {
  readonly #deps: ReplicaProgressDeps;
  #isBlind = false;
  #seen: { lineage: string; transaction: number; changes: number } | null = null;

  constructor(deps: ReplicaProgressDeps) {
    this.#deps = deps;
  }

  /** The lineage that has all that was committed before the call; null: it has not, or not within `limitMs`. */
  async advance(limitMs: number): Promise<string | null> {
    const first = await this.#advance(limitMs);
    if (first === null || !first.isDoubtful) return first?.lineage ?? null;
    await this.#deps.change();
    const second = await this.#advance(limitMs);
    if (second === null) return null;
    if (!second.isDoubtful) {
      this.#isBlind = false;
      return second.lineage;
    }
    if (!this.#isBlind) this.#deps.log.event("replication.blind", { words: BLIND }, "warn");
    this.#isBlind = true;
    return null;
  }

  async #advance(limitMs: number): Promise<{ lineage: string; isDoubtful: boolean } | null> {
    const { sync, changes } = this.#deps;
    const [lineage, changed] = [this.#deps.lineage(), changes()];
    if (lineage === null) return null;
    const transaction = await sync(limitMs);
    if (transaction === null || this.#deps.lineage() !== lineage) return null;
    const seen = this.#seen;
    // At first there is nothing to compare with.
    const isNew = seen?.lineage !== lineage;
    if (!isNew && changed > seen.changes && transaction <= seen.transaction) return { lineage, isDoubtful: true };
    this.#seen = { lineage, transaction, changes: changed };
    return { lineage, isDoubtful: isNew };
  }
}
