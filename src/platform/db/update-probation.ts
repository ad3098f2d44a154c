// Ends the time after an update in which the database of before may be put back.

import type { InstanceSettings } from "./instance-settings.ts";
import type { Db, TransactionListener } from "./open.ts";

// It may be put back while the new executable has done nothing that anybody relies on. A message is written before it is
// answered and before it is sent: so the first transaction that changes a row ends the probation, inside itself. Work
// that can be lost and done again (a purge, a DNS check) ends it too: going back is for the moment of the start.

export class UpdateProbation implements TransactionListener {
  readonly #changes: () => number;
  readonly #settings: InstanceSettings;
  #seen: number;
  #hasChanged = false;
  #isOver = false;

  constructor({ sqlite }: Pick<Db, "sqlite">, settings: InstanceSettings) {
    const total = sqlite.prepare<{ changes: number }, []>("SELECT total_changes() AS changes");
    this.#changes = () => (total.get()?.changes ?? 0) - settings.housekeepingWrites;
    this.#settings = settings;
    this.#seen = this.#changes();
  }

  onRelease(): void {
    if (this.#isOver) return;
    const changes = this.#changes();
    if (changes !== this.#seen) this.#hasChanged = true;
    this.#seen = changes;
  }

  /** What was rolled back is counted all the same. */
  onRollbackTo(): void {
    if (!this.#isOver) this.#seen = this.#changes();
  }

  beforeCommit(): void {
    if (!this.#isOver && this.#hasChanged) this.#settings.set("update_probation", "");
  }

  onRollback(): void {
    this.onRollbackTo();
    this.#hasChanged = false;
  }

  onCommit(): void {
    if (this.#hasChanged) this.#isOver = true;
    if (!this.#isOver) this.#seen = this.#changes();
  }
}
