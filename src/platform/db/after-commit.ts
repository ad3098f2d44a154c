import type { TransactionListener } from "./tally.ts";

/**
 * What happened in a transaction, told once that is durable: a counter must neither run ahead of the
 * database nor count what a rollback took back.
 */
export class AfterCommit implements TransactionListener {
  readonly #ofClosure: (() => void)[] = [];
  readonly #ofBatch: (() => void)[] = [];

  /** Inside a closure given to commit(): runs `tell` after the COMMIT, if this closure is part of it. It must not throw. */
  run(tell: () => void): void {
    this.#ofClosure.push(tell);
  }

  onRelease(): void {
    if (this.#ofClosure.length === 0) return;
    this.#ofBatch.push(...this.#ofClosure);
    this.#ofClosure.length = 0;
  }

  onRollbackTo(): void {
    this.#ofClosure.length = 0;
  }

  beforeCommit(): void {
    // Nothing of it is stored.
  }

  onRollback(): void {
    this.onRollbackTo();
    this.#ofBatch.length = 0;
  }

  onCommit(): void {
    // What was noted while others wrote their sums belongs to no closure, and is as durable.
    this.onRelease();
    for (const tell of this.#ofBatch.splice(0)) tell();
  }
}
