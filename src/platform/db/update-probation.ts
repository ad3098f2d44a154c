import type { InstanceSettings } from "./instance-settings.ts";
import type { Db } from "./open.ts";
import type { TransactionListener } from "./tally.ts";

// After an update the database of before is kept, and may be put back while the new executable has done nothing
// that anybody relies on. Whatever it accepts is written before it is answered, and whatever it sends is written
// before it is sent: so the first transaction that changes a row ends the probation, and says so itself. Work that
// can be lost and done again (a purge, a look at DNS) ends it too: going back is for the moment of the start.

export class Probation implements TransactionListener {
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
