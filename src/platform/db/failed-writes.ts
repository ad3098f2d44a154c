// Writes that an internal error made fail: kept in memory, shown to the operator, tried again every minute.

import type { Clock } from "../clock.ts";

// Some such errors pass. The others need another executable; its start finds in the database what a crash would have
// left there.

const AGAIN_MS = 60_000;

interface Kept {
  since: number;
  write: () => Promise<unknown>;
}

export class FailedWrites<Key> {
  readonly #clock: Clock;
  readonly #kept = new Map<Key, Kept>();
  #cancel: (() => void) | null = null;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `write` is called until it resolves. Its failure was logged already, and is not logged again. */
  keep(key: Key, write: Kept["write"]): void {
    this.#kept.set(key, { since: this.#clock.now(), write });
    this.#later();
  }

  has(key: Key): boolean {
    return this.#kept.has(key);
  }

  get size(): number {
    return this.#kept.size;
  }

  /** The one that has been kept the longest. */
  get first(): { key: Key; since: number } | null {
    for (const [key, { since }] of this.#kept) return { key, since };
    return null;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #later(): void {
    if (this.#isStopped || this.#kept.size === 0) return;
    this.#cancel ??= this.#clock.after(AGAIN_MS, () => {
      void this.#tryAll().then(() => {
        this.#cancel = null;
        this.#later();
      });
    });
  }

  async #tryAll(): Promise<void> {
    const tryOne = async ([key, kept]: [Key, Kept]) => {
      try {
        await kept.write();
        // Another write may have been kept under its key meanwhile.
        if (this.#kept.get(key) === kept) this.#kept.delete(key);
      } catch {
        // It stays.
      }
    };
    await Promise.all([...this.#kept].map(tryOne));
  }
}
