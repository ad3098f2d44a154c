import type { Follower } from "./tally.ts";

/**
 * Rows that a store keeps in memory so that they need not be read again. Whoever changes a row deletes it
 * here, inside the closure that changes it: until that transaction's fate is known the row is not kept
 * anew. Another closure of the same transaction may read it changed, and the change may still be rolled
 * back.
 */
export class Remembered<Key, Row> implements Follower {
  readonly #limit: number;
  readonly #rows = new Map<Key, Row>();
  readonly #changing = new Set<Key>();
  #isAllChanging = false;

  /** Keeps up to `limit` rows; beyond that it begins anew. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key);
  }

  /** Keeps what was just read. */
  set(key: Key, row: Row): void {
    if (this.#isAllChanging || this.#changing.has(key)) return;
    if (this.#rows.size >= this.#limit) this.#rows.clear();
    this.#rows.set(key, row);
  }

  /** Inside a closure given to commit(): the row changes in it. */
  delete(key: Key): void {
    this.#rows.delete(key);
    this.#changing.add(key);
  }

  /** Inside a closure given to commit(): any row may change in it. */
  clear(): void {
    this.#rows.clear();
    this.#isAllChanging = true;
  }

  keep(): void {
    // The transaction may still be rolled back.
  }

  undo(): void {
    // Others in the transaction may have changed the same row.
  }

  flush(): void {
    // Nothing of it is stored.
  }

  reset(): void {
    this.#changing.clear();
    this.#isAllChanging = false;
  }

  committed(): void {
    this.reset();
  }
}
