import type { Database, Statement } from "bun:sqlite";
import type { Db } from "./open.ts";
import { isStorageError, StorageError } from "./storage-error.ts";
import type { TransactionListener } from "./tally.ts";

// Group commit: the only way to write. Closures handed to commit() in one turn of the event loop run
// in one BEGIN IMMEDIATE … COMMIT, and their promises settle after the COMMIT: one fsync serves them all,
// and those of the next turns too while each brings more (for 5 ms).
// A closure that throws is rolled back alone; trouble with the storage (disk full, I/O, read-only)
// rejects the whole batch, since nothing of it is durable; where the COMMIT itself failed, its StorageError may say that
// this is not known. What throws where followers write what the closures
// of a batch come to is a bug of one of them, and not the storage: the batch is run again in halves, until that
// one is alone and rejects with it.
//
// Rolling back one of them takes a SAVEPOINT around each, for which SQLite keeps a copy of every page that a
// closure touches: a tenth of what an email costs. Most batches need none, so they are run without; when a
// closure throws, its batch is rolled back and run again with savepoints, and so are the next ones.

/** Closures run in one transaction at the most, and for how long new ones are begun in it: bounds how long the loop stands still. */
const MAX_BATCH = 512;
const MAX_BATCH_MS = 50;
/** While every turn brings more closures, the first of them waits for so long at the most. */
const MAX_WAIT_MS = 5;
/** What a follower threw before the COMMIT, for the closures of its batch. */
class FollowerBug extends Error {}

/** Batches with savepoints after a closure has thrown: whoever makes many of them throw costs nobody a second run each time. */
const GUARDED_BATCHES = 64;

/** A closure's value, which must not be a promise: a transaction cannot wait. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

/** Runs `work` in a transaction, twice perhaps; resolves with its value once that is durable. */
export type Commit = <T>(work: () => Synchronous<T>) => Promise<T>;

interface Pending {
  work: () => unknown;
  /** Somebody is kept waiting by what it waits for. */
  isSoon: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

type Ran = { kind: "done"; value: unknown } | { kind: "threw"; error: unknown };

export interface CommitterHooks {
  /** A batch could not be made durable. */
  failed?(error: StorageError): void;
  /** How long a batch's transaction took, COMMIT included. */
  committed?(durationMs: number, closures: number): void;
  /** A follower threw when it was told that a batch is durable, which it is nevertheless. */
  internalError?(error: unknown): void;
  /** Measures how long closures and transactions take, ms; default: the machine's steady clock. */
  now?: () => number;
}

export class Committer {
  readonly #sqlite: Database;
  readonly #followers: TransactionListener[];
  readonly #hooks: CommitterHooks;
  readonly #now: () => number;
  readonly #begin: Statement<unknown, []>;
  readonly #commit: Statement<unknown, []>;
  readonly #savepoint: Statement<unknown, []>;
  readonly #release: Statement<unknown, []>;
  readonly #rollbackTo: Statement<unknown, []>;
  readonly #pending: Pending[] = [];
  #isScheduled = false;
  /** One of those that are pending does not wait for others. */
  #isSoon = false;
  /** So many batches more are run with savepoints. */
  #guarded = 0;
  /** Closures in the next batch at the most: less, while it is looked for which of them a follower cannot follow. */
  #limit = MAX_BATCH;

  constructor({ sqlite, listeners: followers }: Pick<Db, "sqlite" | "listeners">, hooks: CommitterHooks = {}) {
    this.#sqlite = sqlite;
    this.#followers = followers;
    this.#hooks = hooks;
    this.#now = hooks.now ?? (() => performance.now());
    this.#begin = sqlite.prepare<unknown, []>("BEGIN IMMEDIATE");
    this.#commit = sqlite.prepare<unknown, []>("COMMIT");
    this.#savepoint = sqlite.prepare<unknown, []>("SAVEPOINT closure");
    this.#release = sqlite.prepare<unknown, []>("RELEASE closure");
    this.#rollbackTo = sqlite.prepare<unknown, []>("ROLLBACK TO closure");
  }

  /**
   * Queues `work` for the next transaction. It must be synchronous, do no I/O and touch nothing but
   * the database: it is run again when a neighbour of its transaction throws. Rejects with what `work` threw, or with StorageError when nothing could be kept.
   */
  readonly commit: Commit = (work) => this.#queue(work, false);

  /** The same at the end of this turn, with all that is queued, and told of before the others: for who is sent nothing more until it is done. */
  readonly commitSoon: Commit = (work) => this.#queue(work, true);

  /** Commits what is waiting, now. */
  flush(): void {
    while (this.#pending.length > 0) this.#runBatch(this.#pending.splice(0, this.#limit));
  }

  #queue<T>(work: () => Synchronous<T>, isSoon: boolean): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#pending.push({ work, isSoon, resolve: resolve as (value: unknown) => void, reject });
    this.#isSoon ||= isSoon;
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#pending.length === 0) return;
    this.#isScheduled = true;
    const since = this.#now();
    let seen = 1;
    // After the I/O of this turn, so that all its requests share the fsync; what is beyond a batch
    // waits for the next turn, so that a burst cannot stop the loop for longer than one.
    const look = () => {
      const { length } = this.#pending;
      // Several: the clients that the last transaction has answered are about to be heard of again.
      if (!this.#isSoon && length > seen && length < MAX_BATCH && this.#now() - since < MAX_WAIT_MS) {
        seen = length;
        setImmediate(look);
        return;
      }
      this.#isScheduled = false;
      const batch = this.#pending.splice(0, this.#limit);
      this.#isSoon = this.#pending.some(({ isSoon }) => isSoon);
      this.#schedule();
      if (batch.length > 0) this.#runBatch(batch);
    };
    setImmediate(look);
  }

  #runBatch(batch: Pending[]): void {
    const startedAt = this.#now();
    let results: Ran[];
    let isCommit = false;
    try {
      results = this.#runClosures(batch);
      this.#flushFollowers();
      isCommit = true;
      this.#commit.run();
    } catch (error) {
      this.#rollBack();
      if (error instanceof FollowerBug) return this.#narrow(batch, error);
      const failure = new StorageError(error, { isCommit });
      for (const pending of batch) pending.reject(failure);
      this.#hooks.failed?.(failure);
      return;
    }
    this.#limit = Math.min(MAX_BATCH, 2 * this.#limit);
    // What was not begun in time comes first in the next transaction.
    this.#pending.unshift(...batch.splice(results.length));
    this.#isSoon = this.#pending.some(({ isSoon }) => isSoon);
    this.#schedule();
    this.#tellFollowers();
    this.#hooks.committed?.(this.#now() - startedAt, batch.length);
    for (const isFirst of [true, false]) {
      for (const [index, { isSoon, resolve, reject }] of batch.entries()) {
        const ran = results[index];
        if (isSoon !== isFirst) continue;
        if (ran?.kind === "done") resolve(ran.value);
        else reject(ran?.error);
      }
    }
  }

  #flushFollowers(): void {
    try {
      for (const follower of this.#followers) follower.beforeCommit();
    } catch (error) {
      this.#requireWell(error);
      throw new FollowerBug("a follower threw", { cause: error });
    }
  }

  #tellFollowers(): void {
    for (const follower of this.#followers) {
      try {
        follower.onCommit?.();
      } catch (error) {
        this.#hooks.internalError?.(error);
      }
    }
  }

  /** Nothing of it was kept: one alone is to blame, of several the next batch has half, in their order. */
  #narrow(batch: Pending[], bug: FollowerBug): void {
    this.#limit = Math.ceil(batch.length / 2);
    if (batch.length === 1) batch[0]?.reject(bug.cause);
    else this.#pending.unshift(...batch);
    this.#isSoon = this.#pending.some(({ isSoon }) => isSoon);
    this.#schedule();
  }

  /** Begins a transaction and runs in it what of the batch there is time for. */
  #runClosures(batch: Pending[]): Ran[] {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) return [this.#runAlone(first)];
    if (this.#guarded === 0) {
      const results = this.#runEach(batch, (work) => this.#runBare(work));
      if (results !== null) return results;
      this.#rollBack();
      this.#guarded = GUARDED_BATCHES;
    }
    this.#guarded -= 1;
    return this.#runEach(batch, (work) => this.#runGuarded(work)) ?? [];
  }

  /** Null: `run` said so of one, and the transaction must not be committed. */
  #runEach(batch: Pending[], run: (work: () => unknown) => Ran | null): Ran[] | null {
    const startedAt = this.#now();
    const results: Ran[] = [];
    this.#begin.run();
    for (const { work } of batch) {
      const ran = run(work);
      if (ran === null) return null;
      results.push(ran);
      if (this.#now() - startedAt > MAX_BATCH_MS) break;
    }
    return results;
  }

  /** One without neighbours: what it wrote before it threw goes with the whole transaction, and an empty one is committed. */
  #runAlone({ work }: Pending): Ran {
    this.#begin.run();
    try {
      const value = work();
      for (const follower of this.#followers) follower.onRelease();
      return { kind: "done", value };
    } catch (error) {
      this.#requireWell(error);
      this.#rollBack();
      this.#begin.run();
      return { kind: "threw", error };
    }
  }

  #rollBack(): void {
    for (const follower of this.#followers) follower.onRollback();
    try {
      // A full disk may have ended the transaction by itself; rolling back again would throw.
      if (this.#sqlite.inTransaction) this.#sqlite.run("ROLLBACK");
    } catch {
      // The next BEGIN fails then, and its batch comes here again: nothing is committed until it works.
    }
  }

  /** Null: it threw, and what it wrote is still in the transaction. */
  #runBare(work: () => unknown): Ran | null {
    try {
      const value = work();
      for (const follower of this.#followers) follower.onRelease();
      return { kind: "done", value };
    } catch (error) {
      this.#requireWell(error);
      return null;
    }
  }

  #runGuarded(work: () => unknown): Ran {
    this.#savepoint.run();
    try {
      const value = work();
      this.#release.run();
      for (const follower of this.#followers) follower.onRelease();
      return { kind: "done", value };
    } catch (error) {
      this.#requireWell(error);
      for (const follower of this.#followers) follower.onRollbackTo();
      this.#rollbackTo.run();
      this.#release.run();
      return { kind: "threw", error };
    }
  }

  /** Throws what a closure threw when that is trouble of the storage, and not the closure's own. */
  #requireWell(error: unknown): void {
    if (isStorageError(error) || !this.#sqlite.inTransaction) throw error;
  }
}
