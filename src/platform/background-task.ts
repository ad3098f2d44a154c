// A loop in the background: it runs when triggered, and again after the delay that each run asks for.

import type { Clock } from "./clock.ts";
import { isStorageError } from "./db/storage-error.ts";
import type { Log } from "./log.ts";

/** After a run that failed: the storage is full or read-only, or there is an internal error. */
const RETRY_MS = 60_000;
/** setTimeout counts to 2^31 ms. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export interface BackgroundTaskOptions {
  /** Names the task where an internal error is logged. */
  name: string;
  /**
   * One run. Answers in how many milliseconds the next one is due; null: only when triggered. `stopping` is aborted by
   * stop(): a long run looks at it between its steps and returns.
   */
  run(stopping: AbortSignal): Promise<number | null> | number | null;
  clock: Pick<Clock, "after">;
  log: Pick<Log, "error">;
  /** After a run that failed; default: a minute. */
  retryMs?: number;
}

/** Runs are never two at a time. A failed run is repeated; storage errors are reported by the disk guard. */
export class BackgroundTask {
  readonly #options: BackgroundTaskOptions;
  readonly #stopping = new AbortController();
  #isStarted = false;
  #isTriggered = false;
  #isRunning = false;
  #running = Promise.resolve();
  #cancel: () => void = () => undefined;

  constructor(options: BackgroundTaskOptions) {
    this.#options = options;
  }

  /** The first run comes after `delayMs`. */
  start(delayMs = 0): void {
    this.#isStarted = true;
    if (delayMs === 0) this.trigger();
    else this.#schedule(delayMs);
  }

  /** Runs now; while a run is under way, once more after it. Does nothing before start(), which runs by itself, and after stop(). */
  trigger(): void {
    if (!this.#isStarted || this.#isStopped) return;
    this.#isTriggered = true;
    if (!this.#isRunning) this.#run();
  }

  /** Resolves when no run is under way; the next one may be scheduled. */
  async idle(): Promise<void> {
    while (this.#isRunning) await this.#running;
  }

  /** No run begins any more. Resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancel();
    await this.idle();
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  #run(): void {
    this.#cancel();
    this.#isTriggered = false;
    // Before the run begins, since it may trigger its own task.
    this.#isRunning = true;
    try {
      const delayMs = this.#options.run(this.#stopping.signal);
      if (delayMs instanceof Promise)
        this.#running = delayMs.catch((error: unknown) => this.#fail(error)).then((ms) => this.#end(ms));
      else this.#end(delayMs);
    } catch (error) {
      this.#end(this.#fail(error));
    }
  }

  #end(delayMs: number | null): void {
    this.#isRunning = false;
    if (this.#isTriggered && !this.#isStopped) this.#run();
    else if (delayMs !== null) this.#schedule(delayMs);
  }

  #fail(error: unknown): number {
    const { log, name } = this.#options;
    if (!isStorageError(error)) log.error(name, error);
    return this.#options.retryMs ?? RETRY_MS;
  }

  #schedule(delayMs: number): void {
    this.#cancel();
    if (!this.#isStopped)
      this.#cancel = this.#options.clock.after(Math.min(delayMs, MAX_DELAY_MS), () => this.trigger());
  }
}
