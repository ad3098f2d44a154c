// Clients that listen to a workspace's events over the API. They ask again and again, and count between their requests too.

import type { Clock } from "../../platform/clock.ts";
import type { EventSubscriber, RecordedEvent } from "./record.ts";

/** A listener counts for so long after its last request. */
const COUNTED_MS = 60_000;

export class Listeners implements EventSubscriber {
  readonly #clock: Pick<Clock, "now" | "after">;
  /** Until when somebody listens, by workspace. */
  readonly #until = new Map<number, number>();
  readonly #waiting = new Map<number, Set<() => void>>();
  #isClosed = false;

  constructor(clock: Pick<Clock, "now" | "after">) {
    this.#clock = clock;
  }

  isInterested(workspaceId: number): boolean {
    const until = this.#until.get(workspaceId);
    if (until === undefined) return false;
    if (this.#clock.now() < until) return true;
    if ((this.#waiting.get(workspaceId)?.size ?? 0) > 0) return true;
    this.#until.delete(workspaceId);
    return false;
  }

  /** Somebody asks: from now on the workspace's events are recorded. */
  note(workspaceId: number): void {
    this.#until.set(workspaceId, this.#clock.now() + COUNTED_MS);
  }

  /** Resolves when an event of the workspace may have come, after `waitMs`, or when `signal` is aborted. */
  wait(workspaceId: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isClosed || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(workspaceId) ?? new Set();
      this.#waiting.set(workspaceId, waiting);
      const end = () => {
        cancel();
        signal.removeEventListener("abort", end);
        waiting.delete(end);
        if (waiting.size === 0 && this.#waiting.get(workspaceId) === waiting) this.#waiting.delete(workspaceId);
        this.note(workspaceId);
        resolve();
      };
      const cancel = this.#clock.after(waitMs, end);
      signal.addEventListener("abort", end);
      waiting.add(end);
    });
  }

  receive({ workspaceId }: RecordedEvent): () => void {
    return () => this.#wake(workspaceId);
  }

  /** Ends all waiting, as at a stop. */
  close(): void {
    this.#isClosed = true;
    for (const workspaceId of Array.from(this.#waiting.keys())) this.#wake(workspaceId);
  }

  #wake(workspaceId: number): void {
    const waiting = this.#waiting.get(workspaceId);
    if (waiting !== undefined) for (const end of Array.from(waiting)) end();
  }
}
