import type { TransactionListener } from "./tally.ts";

/**
 * Rows that a store keeps in memory so that they need not be read again. Whoever changes a row says so here,
 * inside the closure that changes it: with the row as it is then (`put`), or that it is to be read again
 * (`delete`). Until that transaction's fate is known the row is kept apart: a rollback forgets it.
 */
export class TransactionalCache<Key, Row> implements TransactionListener {
  readonly #limit: number;
  readonly #rows = new Map<Key, Row>();
  /** Of this transaction; undefined: not known. */
  readonly #changed = new Map<Key, Row | undefined>();
  #isAllChanging = false;

  /** Keeps up to `limit` rows; beyond that it begins anew. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key) ?? this.#changed.get(key);
  }

  /** Keeps what was just read. */
  set(key: Key, row: Row): void {
    if (this.#isAllChanging || this.#changed.has(key)) return;
    if (this.#rows.size >= this.#limit) this.#rows.clear();
    this.#rows.set(key, row);
  }

  /** Inside a closure given to commit(): the row is written so in it. */
  put(key: Key, row: Row): void {
    this.#rows.delete(key);
    this.#changed.set(key, row);
  }

  /** Inside a closure given to commit(): the row changes in it. */
  delete(key: Key): void {
    this.#rows.delete(key);
    this.#changed.set(key, undefined);
  }

  /** Inside a closure given to commit(): any row may change in it. */
  clear(): void {
    this.#rows.clear();
    this.#forgetChanged();
    this.#isAllChanging = true;
  }

  onRelease(): void {
    // The transaction may still be rolled back.
  }

  onRollbackTo(): void {
    // Others in the transaction may have changed the same row: none is known.
    this.#forgetChanged();
  }

  beforeCommit(): void {
    // Nothing of it is stored.
  }

  onRollback(): void {
    this.#changed.clear();
    this.#isAllChanging = false;
  }

  onCommit(): void {
    const changed = [...this.#changed];
    this.onRollback();
    for (const [key, row] of changed) if (row !== undefined) this.set(key, row);
  }

  #forgetChanged(): void {
    for (const key of this.#changed.keys()) this.#changed.set(key, undefined);
  }
}
