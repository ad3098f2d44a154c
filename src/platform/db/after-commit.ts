import type { Follower } from "./tally.ts";

/**
 * What happened in a transaction, told once that is durable: a counter must neither run ahead of the
 * database nor count what a rollback took back.
 */
export class Facts implements Follower {
  readonly #ofClosure: (() => void)[] = [];
  readonly #ofBatch: (() => void)[] = [];

  /** Inside a closure given to commit(): runs `tell` after the COMMIT, if this closure is part of it. It must not throw. */
  note(tell: () => void): void {
    this.#ofClosure.push(tell);
  }

  keep(): void {
    if (this.#ofClosure.length === 0) return;
    this.#ofBatch.push(...this.#ofClosure);
    this.#ofClosure.length = 0;
  }

  undo(): void {
    this.#ofClosure.length = 0;
  }

  flush(): void {
    // Nothing of it is stored.
  }

  reset(): void {
    this.undo();
    this.#ofBatch.length = 0;
  }

  committed(): void {
    // What was noted while others wrote their sums belongs to no closure, and is as durable.
    this.keep();
    for (const tell of this.#ofBatch.splice(0)) tell();
  }
}
