// The steps of a start that write to the database. On a full disk they wait, in their order, until a write succeeds.

import type { Context } from "../platform/context.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import { isStorageError, StorageError } from "../platform/db/storage-error.ts";
import { getErrorMessage } from "../platform/errors.ts";
import type { HealthIssue } from "../platform/health-issue.ts";

export interface DeferredStartDeps extends Pick<Context, "clock" | "log"> {
  guard: Pick<DiskGuard, "raise" | "whenOpen">;
}

type Step = () => Promise<void> | void;

export class DeferredStart {
  readonly #deps: DeferredStartDeps;
  readonly #steps: Step[] = [];
  #forget: (() => void) | null = null;
  #running = Promise.resolve();
  #issue: HealthIssue | null = null;

  constructor(deps: DeferredStartDeps) {
    this.#deps = deps;
  }

  /** Runs a step now, or behind those that wait. It is run again after a storage error. Rejects with any other error of a step that did not wait. */
  async run(step: Step): Promise<void> {
    this.#steps.push(step);
    if (this.#forget === null) await this.#runAll();
  }

  /** A step that waited has failed; the guard reports that steps wait. */
  get issue(): HealthIssue | null {
    return this.#issue;
  }

  /** Begins no further step. Resolves when none runs. */
  async stop(): Promise<void> {
    this.#steps.length = 0;
    this.#forget?.();
    await this.#running;
  }

  async #runAll(): Promise<void> {
    for (let [step] = this.#steps; step !== undefined; [step] = this.#steps) {
      try {
        await step();
      } catch (error) {
        if (!isStorageError(error)) throw error;
        const { guard } = this.#deps;
        guard.raise(error instanceof StorageError ? error : new StorageError(error));
        this.#forget ??= guard.whenOpen(() => void (this.#running = this.#runLate()));
        return;
      }
      this.#steps.shift();
    }
    this.#forget?.();
  }

  async #runLate(): Promise<void> {
    const { clock, log } = this.#deps;
    try {
      await this.#runAll();
      if (this.#steps.length === 0) log.event("pombo.begun");
    } catch (error) {
      this.#forget?.();
      log.error("late start", error);
      const reason = `pombo started on a full disk and could not begin to send once there was room: ${getErrorMessage(error)} Restart pombo.`;
      this.#issue = { component: "worker", reason, since: clock.now() };
    }
  }
}
