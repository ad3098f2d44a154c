// The pause of all delivery, which the operator ends. It begins after a restore: everything delivered since the restored
// state would go out again. Emails, SMS and webhook calls are accepted and wait; nothing is claimed. The pause is stored
// in the database, so that a restart does not end it.

import type { Clock } from "../clock.ts";
import type { Commit } from "../db/group-commit.ts";
import type { HealthIssue } from "../health-issue.ts";

/** As it is stored. */
export interface Pause {
  /** Why: a sentence. */
  reason: string;
  /** Unix ms. */
  since: number;
  /**
   * After a restore, Unix ms: messages queued before this may have been delivered since.
   * Null: the operator paused delivery.
   */
  restorePoint: number | null;
}

/** The reason of a message that is dropped during a pause after a restore. */
export const DROPPED_AFTER_RESTORE = "dropped after a restore; may have been delivered";

export interface PauseDeps {
  /** The instance setting delivery_paused; null or "": there is no pause. */
  read: () => string | null;
  /** Inside a transaction. */
  write: (value: string) => void;
  commit: Commit;
  /** For a pause that begins with the start: it does not wait for the replica. */
  commitHere: Commit;
  clock: Clock;
}

/** The pause, as workers and dispatchers see it. */
export interface PauseView {
  readonly isPaused: boolean;
  /** Calls `run` when delivery goes on; the returned function ends that. */
  whenResumed(run: () => void): () => void;
}

export class DeliveryPause implements PauseView {
  readonly #deps: PauseDeps;
  readonly #waiters = new Set<() => void>();
  #pause: Pause | null;

  constructor(deps: PauseDeps) {
    this.#deps = deps;
    this.#pause = parsePause(deps.read());
  }

  get pause(): Pause | null {
    return this.#pause;
  }

  get isPaused(): boolean {
    return this.#pause !== null;
  }

  get issue(): HealthIssue | null {
    if (this.#pause === null) return null;
    const { reason, since } = this.#pause;
    const words = `Delivery is paused: ${toSentence(reason)} Accepted messages wait; pombo queue resume ends the pause.`;
    return { component: "delivery", kind: "paused", reason: words, since, isAdvisory: true };
  }

  /** Pauses delivery after a restore, before anything is delivered. A pause after an earlier restore stays as it is. */
  async begin(reason: string): Promise<void> {
    const now = this.#deps.clock.now();
    // Messages of this very millisecond are uncertain too.
    const pause = { reason, since: now, restorePoint: now + 1 };
    await this.#deps.commitHere(() => {
      if ((parsePause(this.#deps.read())?.restorePoint ?? null) === null) this.#deps.write(formatPause(pause));
    });
    this.#pause = parsePause(this.#deps.read());
  }

  /** The operator pauses delivery: what is under way ends, nothing else begins. A pause after a restore stays one, with the new reason. */
  async hold(reason: string): Promise<void> {
    const now = this.#deps.clock.now();
    try {
      await this.#deps.commit(() => {
        const { since = now, restorePoint = null } = parsePause(this.#deps.read()) ?? {};
        this.#deps.write(formatPause({ reason, since, restorePoint }));
      });
    } finally {
      this.#readAgain();
    }
  }

  async resume(): Promise<void> {
    try {
      await this.#deps.commit(() => this.#deps.write(""));
    } finally {
      this.#readAgain();
    }
    for (const run of this.#waiters) run();
  }

  /** What is written holds, also where the caller was told that nobody knows. */
  #readAgain(): void {
    this.#pause = parsePause(this.#deps.read());
  }

  whenResumed(run: () => void): () => void {
    this.#waiters.add(run);
    return () => this.#waiters.delete(run);
  }
}

/** The value of the instance setting delivery_paused. */
export function formatPause(pause: Pause): string {
  return JSON.stringify(pause);
}

function parsePause(value: string | null): Pause | null {
  return value === null || value === "" ? null : (JSON.parse(value) as Pause);
}

function toSentence(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}
