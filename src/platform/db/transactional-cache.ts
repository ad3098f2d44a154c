import type { TransactionListener } from "./open.ts";

/**
 * Rows that a store keeps in memory so that they need not be read again. A closure that changes a row says so here: with
 * the row as it is then (`put`), or that it is to be read again (`delete`). Until the transaction ends the row is kept
 * apart: a rollback forgets it.
 */
export class TransactionalCache<Key, Row> implements TransactionListener {
  readonly #limit: number;
  readonly #rows = new Map<Key, Row>();
  /** Changed in this transaction; undefined: not known. */
  readonly #changed = new Map<Key, Row | undefined>();
  #isAllChanging = false;

  /** Keeps up to `limit` rows; beyond that it begins anew. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key) ?? this.#changed.get(key);
  }

  /** Keeps a row that was just read. */
  set(key: Key, row: Row): void {
    if (this.#isAllChanging || this.#changed.has(key)) return;
    if (this.#rows.size >= this.#limit) this.#rows.clear();
    this.#rows.set(key, row);
  }

  /** Inside a closure given to commit(), which writes the row so. */
  put(key: Key, row: Row): void {
    this.#rows.delete(key);
    this.#changed.set(key, row);
  }

  /** Inside a closure given to commit(), which changes the row. */
  delete(key: Key): void {
    this.#rows.delete(key);
    this.#changed.set(key, undefined);
  }

  /** Inside a closure given to commit(), which may change any row. */
  clear(): void {
    this.#rows.clear();
    this.#forgetChanged();
    this.#isAllChanging = true;
  }

  onRollbackTo(): void {
    // Others in the transaction may have changed the same row: none is known.
    this.#forgetChanged();
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
