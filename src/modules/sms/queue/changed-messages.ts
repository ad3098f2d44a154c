// The messages whose segments a transaction changed, each settled once.

import type { TransactionListener } from "../../../platform/db/open.ts";

/**
 * The messages whose segments a transaction changed. Each is settled once, before the COMMIT: whoever moves
 * a segment cannot forget its message, and an answer and its receipt in one transaction are settled together.
 */
export class ChangedMessages implements TransactionListener {
  readonly #settle: (messageId: number) => void;
  readonly #ofClosure = new Set<number>();
  readonly #ofBatch = new Set<number>();
  /** Of the closures before, and settled in this one: no more than it lasts. */
  readonly #settled = new Set<number>();

  constructor(settle: (messageId: number) => void) {
    this.#settle = settle;
  }

  /** Inside a closure given to commit(): a segment of this message changed. */
  note(messageId: number): void {
    this.#ofClosure.add(messageId);
  }

  /** Inside a closure that goes on by what follows from the transaction's changes: they are settled now. */
  settleNow(): void {
    for (const messageId of this.#ofBatch) {
      this.#settle(messageId);
      this.#settled.add(messageId);
    }
    for (const messageId of this.#ofClosure) this.#settle(messageId);
    this.#ofBatch.clear();
    this.#ofClosure.clear();
  }

  onRelease(): void {
    this.#settled.clear();
    for (const messageId of this.#ofClosure) this.#ofBatch.add(messageId);
    this.#ofClosure.clear();
  }

  onRollbackTo(): void {
    this.#ofClosure.clear();
    for (const messageId of this.#settled) this.#ofBatch.add(messageId);
    this.#settled.clear();
  }

  beforeCommit(): void {
    for (const messageId of this.#ofBatch) this.#settle(messageId);
    this.#ofBatch.clear();
  }

  onRollback(): void {
    this.onRollbackTo();
    this.#ofBatch.clear();
  }
}
