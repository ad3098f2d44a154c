// Group commit: the only way to write to the database.

import type { Database, Statement } from "bun:sqlite";
import type { LogSync } from "./log-sync.ts";
import type { Db, TransactionListener } from "./open.ts";
import { isStorageError, StorageError } from "./storage-error.ts";

// Closures handed to commit() in one turn of the event loop run in one BEGIN IMMEDIATE … COMMIT, and their promises
// settle when the log is synced: one sync serves them all, and those of the next turns too while each brings more (for
// 5 ms). An instance syncs beside the event loop (log-sync.ts): the next transactions run meanwhile, and share the next sync.
// A closure that throws is rolled back without its neighbours. A storage error (disk full, I/O, read-only) rejects the
// whole batch, since nothing of it is durable; where the COMMIT itself failed, its StorageError may say that this is not
// known. A listener that throws before the COMMIT shows an internal error of one of the closures: the batch is run again
// in halves, until that one is alone and rejects.
//
// Rolling back one closure takes a SAVEPOINT around each, for which SQLite keeps a copy of every page that a closure
// touches: a tenth of what an email costs. Most batches need none, so they are run without; when a closure throws, its
// batch is rolled back and run again with savepoints, and so are the next ones.

/** Closures in one transaction at the most, and for how long new ones are begun in it: this bounds how long the event loop waits. */
const MAX_BATCH = 512;
const MAX_BATCH_MS = 50;
/** While every turn brings more closures, the first of them waits for this long at the most. */
const MAX_WAIT_MS = 5;
/** Batches with savepoints after a closure has thrown: one that makes many of them throw must not cost a second run each time. */
const GUARDED_BATCHES = 64;

/** A listener threw before the COMMIT. */
class ListenerError extends Error {}

/** A closure's value, which must not be a promise: a transaction cannot wait. */
type Synchronous<T> = T extends PromiseLike<unknown> ? never : T;

/** Runs `work` in a transaction, perhaps twice; resolves with its value when that is durable. */
export type Commit = <T>(work: () => Synchronous<T>) => Promise<T>;

interface Pending {
  work: () => unknown;
  /** It does not wait for others. */
  isSoon: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

type Ran = { kind: "done"; value: unknown } | { kind: "threw"; error: unknown };

/** A transaction in the log. */
interface Written {
  batch: readonly Pending[];
  results: readonly Ran[];
  startedAt: number;
}

export interface CommitterHooks {
  /** A batch could not be made durable. */
  failed?(error: StorageError): void;
  /** How long it took from a batch's BEGIN until it was durable. */
  committed?(durationMs: number, closures: number): void;
  /** A listener threw after the COMMIT; the batch is kept nevertheless. */
  internalError?(error: unknown): void;
  /** The log could not be synced: nothing is settled or begun any more, and the process must end. */
  syncFailed?(error: Error): void;
  /** Measures how long closures and transactions take, ms; default: the machine's steady clock. */
  now?: () => number;
}

export class Committer {
  readonly #sqlite: Database;
  readonly #listeners: TransactionListener[];
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
  /** How many more batches are run with savepoints. */
  #guarded = 0;
  /** Closures in the next batch at the most: fewer while the one is looked for that makes a listener throw. */
  #limit = MAX_BATCH;
  readonly #log: LogSync | null;
  /** Transactions that the sync under way makes durable (none: no sync is under way), and those after them. */
  #syncing: Written[] = [];
  #written: Written[] = [];
  /** Why the log could not be synced. */
  #lost: Error | null = null;

  /** `log`: syncs the log; null: each COMMIT does. */
  constructor(
    { sqlite, listeners }: Pick<Db, "sqlite" | "listeners">,
    hooks: CommitterHooks = {},
    log: LogSync | null = null,
  ) {
    this.#sqlite = sqlite;
    this.#log = log;
    this.#listeners = listeners;
    this.#hooks = hooks;
    this.#now = hooks.now ?? (() => performance.now());
    this.#begin = sqlite.prepare<unknown, []>("BEGIN IMMEDIATE");
    this.#commit = sqlite.prepare<unknown, []>("COMMIT");
    this.#savepoint = sqlite.prepare<unknown, []>("SAVEPOINT closure");
    this.#release = sqlite.prepare<unknown, []>("RELEASE closure");
    this.#rollbackTo = sqlite.prepare<unknown, []>("ROLLBACK TO closure");
  }

  /**
   * Queues `work` for the next transaction. It must be synchronous, do no I/O and touch nothing but the database: it is
   * run again when another closure of its transaction throws. Rejects with what `work` threw, or with StorageError.
   */
  readonly commit: Commit = (work) => this.#queue(work, false);

  /** The same at the end of this turn, with all that is queued, and settled before the others: for a peer that sends nothing more until it is answered. */
  readonly commitSoon: Commit = (work) => this.#queue(work, true);

  /** Commits what is waiting, now; resolves when it is durable. */
  async flush(): Promise<void> {
    do {
      while (this.#pending.length > 0) this.#runBatch(this.#pending.splice(0, this.#limit));
      if (this.#syncing.length > 0) await this.commit(() => undefined).catch(() => undefined);
    } while (this.#pending.length > 0 || this.#syncing.length > 0);
  }

  /** For how long a transaction has been waiting for its sync, ms; 0: none is. */
  get unsyncedMs(): number {
    const [first] = this.#syncing;
    return first === undefined ? 0 : this.#now() - first.startedAt;
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
    // After the I/O of this turn, so that all its requests share the fsync. What is beyond a batch waits for the next
    // turn, so that a burst cannot stop the loop for longer than one.
    const look = () => {
      const { length } = this.#pending;
      // Several: the clients that the last transaction answered are about to send again.
      if (!this.#isSoon && length > seen && length < MAX_BATCH && this.#now() - since < MAX_WAIT_MS) {
        seen = length;
        setImmediate(look);
        return;
      }
      this.#isScheduled = false;
      const batch = this.#pending.splice(0, this.#limit);
      this.#isSoon = this.#pending.some(({ isSoon }) => isSoon);
      this.#schedule();
      if (batch.length > 0 && this.#lost === null) this.#runBatch(batch);
    };
    setImmediate(look);
  }

  #runBatch(batch: Pending[]): void {
    const startedAt = this.#now();
    let results: Ran[];
    let isCommit = false;
    try {
      results = this.#runClosures(batch);
      this.#runBeforeCommit();
      isCommit = true;
      this.#commit.run();
    } catch (error) {
      this.#rollBack();
      if (error instanceof ListenerError) return this.#narrow(batch, error);
      const failure = new StorageError(error, { isCommit });
      for (const pending of batch) pending.reject(failure);
      this.#hooks.failed?.(failure);
      return;
    }
    this.#limit = Math.min(MAX_BATCH, 2 * this.#limit);
    // Closures that were not begun in time come first in the next transaction.
    this.#requeue(batch.splice(results.length));
    this.#runOnCommit();
    const written = { batch, results, startedAt };
    if (this.#log === null) return this.#settle(written);
    this.#written.push(written);
    if (this.#syncing.length === 0) this.#sync(this.#log);
  }

  #sync(log: LogSync): void {
    const syncing = this.#written;
    this.#syncing = syncing;
    this.#written = [];
    log.sync((error) => {
      if (error !== null) return this.#lose(error);
      this.#syncing = [];
      if (this.#written.length > 0) this.#sync(log);
      for (const each of syncing) this.#settle(each);
    });
  }

  /** Written transactions may never reach the disk, though every read shows them: nothing may be built on them. */
  #lose(error: Error): void {
    this.#lost = error;
    this.#hooks.syncFailed?.(error);
  }

  #settle({ batch, results, startedAt }: Written): void {
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

  #runBeforeCommit(): void {
    try {
      for (const listener of this.#listeners) listener.beforeCommit?.();
    } catch (error) {
      this.#requireWell(error);
      throw new ListenerError("a listener threw", { cause: error });
    }
  }

  #runOnCommit(): void {
    for (const listener of this.#listeners) {
      try {
        listener.onCommit?.();
      } catch (error) {
        this.#hooks.internalError?.(error);
      }
    }
  }

  /** Nothing of it was kept. A single closure is to blame; of several the next batch has half, in their order. */
  #narrow(batch: Pending[], failure: ListenerError): void {
    this.#limit = Math.ceil(batch.length / 2);
    if (batch.length === 1) batch.pop()?.reject(failure.cause);
    this.#requeue(batch);
  }

  #requeue(first: Pending[]): void {
    this.#pending.unshift(...first);
    this.#isSoon = this.#pending.some(({ isSoon }) => isSoon);
    this.#schedule();
  }

  /** Begins a transaction and runs in it what of the batch there is time for. */
  #runClosures(batch: Pending[]): Ran[] {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) return [this.#runAlone(first)];
    if (this.#guarded === 0) {
      const results = this.#runEach(batch, false);
      if (results !== null) return results;
      this.#rollBack();
      this.#guarded = GUARDED_BATCHES;
    }
    this.#guarded -= 1;
    return this.#runEach(batch, true) ?? [];
  }

  /** Null: without savepoints one has thrown, and the transaction must not be committed. */
  #runEach(batch: Pending[], isGuarded: boolean): Ran[] | null {
    const startedAt = this.#now();
    const results: Ran[] = [];
    this.#begin.run();
    for (const { work } of batch) {
      const ran = isGuarded ? this.#runGuarded(work) : this.#run(work);
      if (ran.kind === "threw" && !isGuarded) return null;
      results.push(ran);
      if (this.#now() - startedAt > MAX_BATCH_MS) break;
    }
    return results;
  }

  /** One without neighbours: when it throws the whole transaction is rolled back, and an empty one is committed. */
  #runAlone({ work }: Pending): Ran {
    this.#begin.run();
    const ran = this.#run(work);
    if (ran.kind === "done") return ran;
    this.#rollBack();
    this.#begin.run();
    return ran;
  }

  #rollBack(): void {
    for (const listener of this.#listeners) listener.onRollback();
    try {
      // A full disk may have ended the transaction by itself; rolling back again would throw.
      if (this.#sqlite.inTransaction) this.#sqlite.run("ROLLBACK");
    } catch {
      // The next BEGIN fails then, and its batch comes here again: nothing is committed until it works.
    }
  }

  /** After it threw, what it wrote is still in the transaction. Throws a storage error, which is not the closure's own. */
  #run(work: () => unknown): Ran {
    try {
      const value = work();
      for (const listener of this.#listeners) listener.onRelease?.();
      return { kind: "done", value };
    } catch (error) {
      this.#requireWell(error);
      return { kind: "threw", error };
    }
  }

  #runGuarded(work: () => unknown): Ran {
    this.#savepoint.run();
    const ran = this.#run(work);
    if (ran.kind === "threw") {
      for (const listener of this.#listeners) listener.onRollbackTo();
      this.#rollbackTo.run();
    }
    this.#release.run();
    return ran;
  }

  /** Throws `error` when it is a storage error. */
  #requireWell(error: unknown): void {
    if (isStorageError(error) || !this.#sqlite.inTransaction) throw error;
  }
}
