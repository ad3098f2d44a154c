// Events on their way to a developer's program: a few at a time, those of one resource one after the
// other. It only keeps order: what is done with an event is its caller's.

/** As a webhook has them: calls to one receiver at once. */
const AT_ONCE = 16;

interface Waiting {
  resource: string;
  run: () => Promise<void>;
}

export class Forwarder {
  readonly #mostWaiting: number;
  /** In the order in which they came. */
  readonly #waiting: Waiting[] = [];
  /** Resources of which one is on its way. */
  readonly #busy = new Set<string>();
  readonly #changed = new Set<() => void>();
  #isEnded = false;

  /** With `mostWaiting` events waiting it is full. */
  constructor(mostWaiting: number) {
    this.#mostWaiting = mostWaiting;
  }

  /** `run` sends one event, and must not reject. */
  add(resource: string, run: () => Promise<void>): void {
    this.#waiting.push({ resource, run });
    this.#startNext();
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#mostWaiting;
  }

  /** Resolves when it is full no more, or when it has ended. */
  async room(): Promise<void> {
    while (this.isFull && !this.#isEnded) await this.#change();
  }

  /** Starts nothing more, and waits for what is on its way; how many events were never begun. */
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
    while (!this.#isEnded && this.#busy.size < AT_ONCE) {
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
