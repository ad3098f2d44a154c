import type { TransactionListener } from "./open.ts";

/** Runs functions after the COMMIT: a counter must neither run ahead of the database nor count what was rolled back. */
export class AfterCommit implements TransactionListener {
  readonly #ofClosure: (() => void)[] = [];
  readonly #ofBatch: (() => void)[] = [];

  /** Inside a closure given to commit(): runs `notify` after the COMMIT, if this closure is part of it. It must not throw. */
  run(notify: () => void): void {
    this.#ofClosure.push(notify);
  }

  onRelease(): void {
    if (this.#ofClosure.length === 0) return;
    this.#ofBatch.push(...this.#ofClosure);
    this.#ofClosure.length = 0;
  }

  onRollbackTo(): void {
    this.#ofClosure.length = 0;
  }

  onRollback(): void {
    this.onRollbackTo();
    this.#ofBatch.length = 0;
  }

  onCommit(): void {
    // Functions that were added while other listeners wrote belong to no closure, and share its fate.
    this.onRelease();
    for (const notify of this.#ofBatch.splice(0)) notify();
  }
}
