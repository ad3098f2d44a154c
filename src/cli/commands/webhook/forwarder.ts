// Runs the forwarding of events: a few at a time, and those of one resource in their order.

/** Concurrent calls, as for a webhook. */
const MAX_RUNNING = 16;

interface Waiting {
  resource: string;
  run: () => Promise<void>;
}

export class Forwarder {
  readonly #maxWaiting: number;
  readonly #waiting: Waiting[] = [];
  /** Resources with an event that is being forwarded. */
  readonly #busy = new Set<string>();
  readonly #changed = new Set<() => void>();
  #isEnded = false;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** `run` sends one event, and must not reject. */
  add(resource: string, run: () => Promise<void>): void {
    this.#waiting.push({ resource, run });
    this.#startNext();
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  /** Resolves when it is no longer full, or has ended. */
  async room(): Promise<void> {
    while (this.isFull && !this.#isEnded) await this.#change();
  }

  /** Starts no more, and waits for those that run. Resolves with the number that never started. */
  async end(): Promise<number> {
    this.#isEnded = true;
    this.#tell();
    while (this.#busy.size > 0) await this.#change();
    return this.#waiting.length;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.add(resolve));
  }

  #tell(): void {
    for (const resolve of this.#changed) resolve();
    this.#changed.clear();
  }

  #startNext(): void {
    while (!this.#isEnded && this.#busy.size < MAX_RUNNING) {
      const place = this.#waiting.findIndex(({ resource }) => !this.#busy.has(resource));
      const [next] = place < 0 ? [] : this.#waiting.splice(place, 1);
      if (next === undefined) return;
      this.#busy.add(next.resource);
      void next.run().then(() => {
        this.#busy.delete(next.resource);
        this.#startNext();
        this.#tell();
      });
    }
  }
}
