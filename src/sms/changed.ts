import type { Follower } from "../db/tally.ts";

/**
 * The messages whose segments a transaction changed. Each is settled once, before the COMMIT: whoever moves
 * a segment cannot forget its message, and an answer and its receipt in one transaction are settled together.
 */
export class ChangedMessages implements Follower {
  readonly #settle: (messageId: number) => void;
  readonly #ofClosure = new Set<number>();
  readonly #ofBatch = new Set<number>();

  constructor(settle: (messageId: number) => void) {
    this.#settle = settle;
  }

  /** Inside a closure given to commit(): a segment of this message changed. */
  note(messageId: number): void {
    this.#ofClosure.add(messageId);
  }

  /** Inside a closure that goes on by what follows from its changes: they are settled now. */
  settleNow(): void {
    for (const messageId of this.#ofClosure) this.#settle(messageId);
    this.#ofClosure.clear();
  }

  keep(): void {
    for (const messageId of this.#ofClosure) this.#ofBatch.add(messageId);
    this.#ofClosure.clear();
  }

  undo(): void {
    this.#ofClosure.clear();
  }

  flush(): void {
    for (const messageId of this.#ofBatch) this.#settle(messageId);
    this.#ofBatch.clear();
  }

  reset(): void {
    this.undo();
    this.#ofBatch.clear();
  }
}
