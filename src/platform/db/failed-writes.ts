// Outcomes that could not be recorded because of an internal error. Each is kept in memory, where it holds no place
// and stops nobody, is shown to the operator, and is tried again once a minute, since some errors pass. The others need
// another version, whose start finds in the database what a crash would have left there.

import { BackgroundTask } from "../background-task.ts";
import type { Clock } from "../clock.ts";
import type { HealthIssue } from "../health-issue.ts";
import type { Log } from "../log.ts";

const RETRY_MS = 60_000;

export interface FailedWritesOptions<Key> {
  clock: Clock;
  log: Log;
  component: HealthIssue["component"];
  /** What one key stands for, and several. */
  noun: { one: string; many: string };
  /** What the next start does with them: the end of a sentence. */
  atNextStart: string;
  /** By which name the operator knows it; may throw. */
  getName(key: Key): string;
  /** At this many failed writes, no new work begins: the error is not one of a single row any more, and each is uncertain after a start. */
  limit?: number;
}

interface FailedWrite {
  since: number;
  write: () => Promise<unknown>;
}

export class FailedWrites<Key> {
  readonly #options: FailedWritesOptions<Key>;
  readonly #kept = new Map<Key, FailedWrite>();
  readonly #retry: BackgroundTask;

  constructor(options: FailedWritesOptions<Key>) {
    this.#options = options;
    this.#retry = new BackgroundTask({ ...options, name: "failed writes", run: () => this.#retryAll() });
  }

  /** `write` is called once a minute until it resolves. Its failure was logged already, and is not logged again. */
  keep(key: Key, write: FailedWrite["write"]): void {
    if (this.#kept.size === 0) this.#retry.start(RETRY_MS);
    this.#kept.set(key, { since: this.#options.clock.now(), write });
  }

  has(key: Key): boolean {
    return this.#kept.has(key);
  }

  get size(): number {
    return this.#kept.size;
  }

  get isTooMany(): boolean {
    return this.size >= (this.#options.limit ?? Infinity);
  }

  get issue(): HealthIssue | null {
    const { component, noun, atNextStart } = this.#options;
    const [first] = this.#kept;
    if (first === undefined) return null;
    const [key, { since }] = first;
    const outcomes = this.size === 1 ? `outcome of one ${noun.one}` : `outcomes of ${this.size} ${noun.many}`;
    const others = this.isTooMany ? "There are so many that nothing more is sent." : "All others go on.";
    const reason =
      `Because of an internal error pombo could not record the ${outcomes} (the first: ${this.getName(key)}; see ` +
      `"internal_error" in the log). Meanwhile they are not sent again, and pombo tries to record them once a minute. ${others} ` +
      `The rest needs another version: pombo update, whose start ${atNextStart}.`;
    return { component, kind: "unwritten", reason, since, isAdvisory: true };
  }

  /** As the operator knows it; never throws. */
  getName(key: Key): string {
    try {
      return this.#options.getName(key);
    } catch {
      return String(key);
    }
  }

  stop(): void {
    void this.#retry.stop();
  }

  async #retryAll(): Promise<number | null> {
    const retry = async ([key, kept]: [Key, FailedWrite]) => {
      try {
        await kept.write();
        // Something else may have been kept under its key meanwhile.
        if (this.#kept.get(key) === kept) this.#kept.delete(key);
      } catch {
        // It stays.
      }
    };
    await Promise.all(Array.from(this.#kept, retry));
    return this.#kept.size > 0 ? RETRY_MS : null;
  }
}
