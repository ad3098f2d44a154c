import type { Clock } from "../clock.ts";
import type { Commit } from "../db/group-commit.ts";
import type { HealthIssue } from "../health-issue.ts";

// Delivery that waits for the operator: after the database of an earlier time was put back, everything delivered
// since would go out again. Emails, texts and calls of webhooks are accepted and stay where they are; nothing is
// claimed. The pause is a fact in the database, so that a restart does not end it.

/** A pause as the database keeps it. */
export interface Pause {
  /** A sentence: why. */
  reason: string;
  /** Unix ms. */
  since: number;
  /**
   * After a restore: what is in the queue was queued before this, Unix ms, and may have been delivered since.
   * Null: it is the operator's own pause.
   */
  restorePoint: number | null;
}

/** Why a message that is dropped during such a pause was not sent. */
export const DROPPED_AFTER_RESTORE = "dropped after a restore; may have been delivered";

export interface PauseDeps {
  /** The fact delivery_paused; null or "": there is no pause. */
  read: () => string | null;
  /** Inside a transaction. */
  write: (value: string) => void;
  commit: Commit;
  clock: Clock;
}

/** What workers and dispatchers ask. */
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
    const words = `Delivery is paused: ${sentence(reason)} What is accepted waits; pombo queue resume lets it go on.`;
    return { component: "delivery", reason: words, since, isAdvisory: true };
  }

  /**
   * Pauses delivery, before anything has begun to deliver, over a database that was put back: an older pause for
   * that stays as it is.
   */
  async begin(reason: string): Promise<void> {
    const now = this.#deps.clock.now();
    // Of what was queued in this very millisecond too it is not known.
    const pause = { reason, since: now, restorePoint: now + 1 };
    await this.#deps.commit(() => {
      if ((parsePause(this.#deps.read())?.restorePoint ?? null) === null) this.#deps.write(pauseFact(pause));
    });
    this.#pause = parsePause(this.#deps.read());
  }

  /** The operator pauses delivery: what is under way ends, nothing else begins. A pause after a restore stays one. */
  async hold(reason: string): Promise<void> {
    const now = this.#deps.clock.now();
    await this.#deps.commit(() => {
      const { since = now, restorePoint = null } = parsePause(this.#deps.read()) ?? {};
      this.#deps.write(pauseFact({ reason, since, restorePoint }));
    });
    this.#pause = parsePause(this.#deps.read());
  }

  /** Delivery goes on. */
  async resume(): Promise<void> {
    await this.#deps.commit(() => this.#deps.write(""));
    this.#pause = null;
    for (const run of this.#waiters) run();
  }

  whenResumed(run: () => void): () => void {
    this.#waiters.add(run);
    return () => this.#waiters.delete(run);
  }
}

/** The value of the fact delivery_paused. */
export function pauseFact(pause: Pause): string {
  return JSON.stringify(pause);
}

function parsePause(value: string | null): Pause | null {
  return value === null || value === "" ? null : (JSON.parse(value) as Pause);
}

function sentence(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}
