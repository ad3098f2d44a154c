// Counts of a transaction, summed in memory and written once before its COMMIT: what a hundred closures
// each count one of costs one row instead of a hundred. Follows the fate of the closures: what a
// closure counted before it was rolled back is not counted.

/** What goes with the closures of a transaction, and is told of their fate. */
export interface Follower {
  /** The closure's savepoint was released. */
  keep(): void;
  /** The closure was rolled back. */
  undo(): void;
  /** Before the COMMIT: time to write. */
  flush(): void;
  /** The transaction was rolled back. */
  reset(): void;
  /** The transaction is durable. */
  committed?(): void;
}

export type CountedKey = Record<string, string | number>;

interface Counted {
  key: CountedKey;
  amount: number;
}

export class Tally<Key extends CountedKey = CountedKey> implements Follower {
  readonly #write: (key: Key, amount: number) => void;
  #ofClosure: Counted[] = [];
  readonly #ofBatch = new Map<string, Counted>();

  /** `write` adds `amount`, which may be negative and is never 0, to what the database holds under `key`. */
  constructor(write: (key: Key, amount: number) => void) {
    this.#write = write;
  }

  /** Counts, inside a closure given to commit(). */
  add(key: Key, amount: number): void {
    this.#ofClosure.push({ key, amount });
  }

  keep(): void {
    for (const { key, amount } of this.#ofClosure) {
      const name = Object.values(key).join("\0");
      const counted = this.#ofBatch.get(name);
      if (counted === undefined) this.#ofBatch.set(name, { key, amount });
      else counted.amount += amount;
    }
    this.#ofClosure = [];
  }

  undo(): void {
    this.#ofClosure = [];
  }

  /** Writes the sums, inside the transaction. */
  flush(): void {
    for (const { key, amount } of this.#ofBatch.values()) if (amount !== 0) this.#write(key as Key, amount);
    this.#ofBatch.clear();
  }

  reset(): void {
    this.undo();
    this.#ofBatch.clear();
  }
}
