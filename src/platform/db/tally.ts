// Counts of a transaction, summed in memory and written once before its COMMIT.

import type { TransactionListener } from "./open.ts";

export type CountedKey = Record<string, string | number>;

interface Counted {
  key: CountedKey;
  amount: number;
}

/** Counts until then under such keys are not written. */
interface Dropped {
  isDropped: (key: CountedKey) => boolean;
}

/**
 * Where a hundred closures each count one, one row is written and not a hundred. A closure that is rolled back counts
 * nothing.
 */
export class Tally<Key extends CountedKey = CountedKey> implements TransactionListener {
  readonly #write: (key: Key, amount: number) => void;
  #ofClosure: (Counted | Dropped)[] = [];
  readonly #ofBatch = new Map<string, Counted>();

  /** `write` adds `amount`, which may be negative and is never 0, to what the database holds under `key`. */
  constructor(write: (key: Key, amount: number) => void) {
    this.#write = write;
  }

  /** Counts, inside a closure given to commit(). */
  add(key: Key, amount: number): void {
    this.#ofClosure.push({ key, amount });
  }

  /**
   * Inside a closure that takes such keys out of the database: counts of it and of earlier closures of the transaction
   * under them are not written either; later ones are.
   */
  drop(isDropped: (key: Key) => boolean): void {
    this.#ofClosure.push({ isDropped: isDropped as (key: CountedKey) => boolean });
  }

  onRelease(): void {
    for (const each of this.#ofClosure) {
      if ("isDropped" in each) this.#dropFromBatch(each);
      else this.#addToBatch(each);
    }
    this.#ofClosure = [];
  }

  onRollbackTo(): void {
    this.#ofClosure = [];
  }

  /** Writes the sums, inside the transaction. */
  beforeCommit(): void {
    for (const { key, amount } of this.#ofBatch.values()) if (amount !== 0) this.#write(key as Key, amount);
    this.#ofBatch.clear();
  }

  onRollback(): void {
    this.onRollbackTo();
    this.#ofBatch.clear();
  }

  #addToBatch({ key, amount }: Counted): void {
    const name = Object.values(key).join("\0");
    const counted = this.#ofBatch.get(name);
    if (counted === undefined) this.#ofBatch.set(name, { key, amount });
    else counted.amount += amount;
  }

  #dropFromBatch({ isDropped }: Dropped): void {
    for (const [name, { key }] of this.#ofBatch) if (isDropped(key)) this.#ofBatch.delete(name);
  }
}
