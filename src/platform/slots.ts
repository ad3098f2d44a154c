// How many of a kind may be under way, such as sessions to mail servers: for one site, and in all. Those that must
// wait are served in the order they came within a site, and site by site in turn where it is the total that they wait
// for, so that a site with a long line holds up its own work only.

interface Waiter {
  resolve: (release: (() => void) | null) => void;
  signal: AbortSignal;
  cancel: () => void;
}

export class Slots {
  readonly #perSite: (site: string) => number;
  readonly #total: number;
  readonly #open = new Map<string, number>();
  readonly #waiting = new Map<string, Set<Waiter>>();
  #openTotal = 0;

  /** `perSite` is asked each time, and may change. */
  constructor(limits: { perSite: (site: string) => number; total: number }) {
    this.#perSite = limits.perSite;
    this.#total = limits.total;
  }

  /** Waits for a slot; the returned function gives it back. Null: `signal` was aborted first. */
  take(site: string, signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null);
    if (this.#hasRoom(site)) return Promise.resolve(this.#occupy(site));
    return new Promise((resolve) => {
      const waiter: Waiter = { resolve, signal, cancel: () => this.#withdraw(site, waiter) };
      signal.addEventListener("abort", waiter.cancel, { once: true });
      const line = this.#waiting.get(site);
      if (line === undefined) this.#waiting.set(site, new Set([waiter]));
      else line.add(waiter);
    });
  }

  get openCount(): number {
    return this.#openTotal;
  }

  #hasRoom(site: string): boolean {
    return this.#openTotal < this.#total && (this.#open.get(site) ?? 0) < this.#perSite(site);
  }

  #occupy(site: string): () => void {
    this.#openTotal += 1;
    this.#open.set(site, (this.#open.get(site) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const wasFull = this.#openTotal === this.#total;
      this.#openTotal -= 1;
      const open = (this.#open.get(site) ?? 1) - 1;
      if (open === 0) this.#open.delete(site);
      else this.#open.set(site, open);
      // Below the total all that wait do so for their own site, which may bear more than before.
      if (!wasFull) while (this.#admit(site));
      else for (const next of this.#waiting.keys()) if (this.#admit(next)) return;
    };
  }

  #admit(site: string): boolean {
    if (!this.#hasRoom(site)) return false;
    const line = this.#waiting.get(site) ?? new Set();
    const [waiter] = line;
    if (waiter === undefined) return false;
    line.delete(waiter);
    // Back to the end of the line of sites.
    this.#waiting.delete(site);
    if (line.size > 0) this.#waiting.set(site, line);
    waiter.signal.removeEventListener("abort", waiter.cancel);
    waiter.resolve(this.#occupy(site));
    return true;
  }

  #withdraw(site: string, waiter: Waiter): void {
    const line = this.#waiting.get(site);
    line?.delete(waiter);
    if (line?.size === 0) this.#waiting.delete(site);
    waiter.resolve(null);
  }
}
