// Delays answers until the replica has what was committed ([replication] acknowledge = "replica").
//
// One sync of the daemon at a time serves all that were committed before it began; the next takes what came meanwhile.
// While the first of those that wait has waited for long, the disk guard is closed: nothing new is accepted, claimed or
// sent. What is committed by then waits on, and goes on by itself when the replica has it.

import type { Clock } from "../platform/clock.ts";
import type { Commit } from "../platform/db/group-commit.ts";
import { NotReplicatedError } from "../platform/db/storage-error.ts";

/** Nothing new is accepted or sent while the replica is further behind. */
const BEHIND_MS = 5_000;
/** After this the caller of a commit gets NotReplicatedError: it may last or not. */
const ANSWER_MS = 30_000;
/** Of one sync. */
const SYNC_LIMIT_MS = 10_000;
const AGAIN_MS = 200;

/** Has the daemon copy all that is committed; false: not within `limitMs`, or not known. */
export type SyncReplica = (limitMs: number) => Promise<boolean>;

export interface ReplicaBarrierDeps {
  /** Monotonic: never adjusted. */
  steady: Clock;
  /** Called when the replica comes to be behind, with the reason, and when it has caught up: null. */
  behind: (reason: string | null) => void;
  /** How long a sync took, ms. */
  synced?: (durationMs: number) => void;
}

interface Waiting {
  resolve: () => void;
  reject: (error: NotReplicatedError) => void;
}

export class ReplicaBarrier {
  readonly #deps: ReplicaBarrierDeps;
  #sync: SyncReplica | null = null;
  #waiting: Waiting[] = [];
  /** Those that the sync under way is for. */
  #syncing: Waiting[] = [];
  #isRunning = false;
  #isClosed = false;
  /** Ends a wait between two syncs. */
  #wake: () => void = () => undefined;

  constructor(deps: ReplicaBarrierDeps) {
    this.#deps = deps;
  }

  /** Replication runs from now on; until then all that is to be kept waits. */
  attach(sync: SyncReplica): void {
    this.#sync = sync;
    this.#wake();
  }

  /** Resolves when the replica has all that was committed before the call, however long that takes; rejects when it is closed. */
  readonly kept = (): Promise<void> => {
    if (this.#isClosed) return Promise.reject(stopped());
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ resolve, reject });
    if (!this.#isRunning) void this.#run();
    return promise;
  };

  /** `commitHere`, and kept. Rejects with NotReplicatedError where that takes longer than 30 s. */
  wrap(commitHere: Commit): Commit {
    return async (work) => {
      const value = await commitHere(work);
      const { promise: isLate, reject } = Promise.withResolvers<never>();
      const cancel = this.#deps.steady.after(ANSWER_MS, () =>
        reject(new NotReplicatedError(`the replica did not take it within ${ANSWER_MS / 1_000} s`)),
      );
      try {
        await Promise.race([this.kept(), isLate]);
      } finally {
        cancel();
      }
      return value;
    };
  }

  /** Rejects all that wait: pombo stops. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of [...this.#syncing.splice(0), ...this.#waiting.splice(0)]) reject(stopped());
    this.#wake();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      this.#syncing = this.#waiting;
      this.#waiting = [];
      const endWatch = this.#watchDelay();
      while (!this.#isClosed && !(await this.#syncOnce())) await this.#pause();
      for (const { resolve } of this.#syncing.splice(0)) resolve();
      endWatch();
    }
    this.#isRunning = false;
  }

  /** Before replication runs nobody is told: what would start it waits for the guard itself. */
  #watchDelay(): () => void {
    const { steady, behind } = this.#deps;
    let isBehind = false;
    let cancel = () => {};
    const watch = () => {
      cancel = steady.after(BEHIND_MS, () => {
        if (this.#sync === null) return watch();
        isBehind = true;
        behind(`the replica is more than ${BEHIND_MS / 1_000} s behind, and [replication] acknowledge is "replica"`);
      });
    };
    watch();
    return () => {
      cancel();
      if (isBehind) behind(null);
    };
  }

  async #syncOnce(): Promise<boolean> {
    if (this.#sync === null) return false;
    const { steady, synced } = this.#deps;
    const startedAt = steady.now();
    const isDone = await this.#sync(SYNC_LIMIT_MS).catch(() => false);
    if (isDone) synced?.(steady.now() - startedAt);
    return isDone;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.steady.after(AGAIN_MS, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

function stopped(): NotReplicatedError {
  return new NotReplicatedError("pombo stopped before the replica had it");
}
