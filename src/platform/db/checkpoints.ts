// Checkpoints the write-ahead log on a thread, so that the event loop does not wait while its pages are copied.

import { Database, type Statement } from "bun:sqlite";
import { type OpenThread, ThreadClient } from "../worker-threads/worker-thread.ts";
import type { Log } from "../log.ts";
import type { TransactionListener } from "./open.ts";
import { CHECKPOINT_PAGES } from "./wal.ts";

// The log begins anew only at a moment when all of it is copied. The thread copies all but what is committed meanwhile;
// the rest is copied here, between two transactions.

/** Commits between two looks at the log: a look costs 4 µs, and few transactions write more than 500 pages. */
const LOOK_EVERY = 4;
/** The first pass of the thread copies thousands of pages, the second what was committed during that. */
const PASSES = 2;
/** While large files are stored more than so many are left behind it: it copies these too, */
const REST_PAGES = 500;
/** unless they come as fast as it copies. */
const CALLS = 10;
/** If the thread is late, a COMMIT copies the pages itself. */
const LATE_PAGES = 4 * CHECKPOINT_PAGES;
/** A disk may be this slow. */
const SILENCE_MS = 600_000;

interface LogState {
  /** Pages in the log, and how many of them were copied; −1: there is no log. */
  log: number;
  checkpointed: number;
}

/** For the thread: the database whose log it checkpoints. */
export interface CheckpointInput {
  checkpointFile: string;
}

export interface CheckpointsOptions {
  sqlite: Database;
  databaseFile: string;
  openThread: OpenThread;
  log: Pick<Log, "event">;
}

export class Checkpoints implements TransactionListener {
  readonly #sqlite: Database;
  readonly #file: string;
  readonly #state: Statement<LogState, []>;
  readonly #thread: ThreadClient<CheckpointInput, void>;
  #commits = 0;
  #running: Promise<void> | null = null;

  constructor({ sqlite, databaseFile, openThread, log }: CheckpointsOptions) {
    this.#sqlite = sqlite;
    this.#file = databaseFile;
    this.#state = sqlite.prepare<LogState, []>("PRAGMA wal_checkpoint(NOOP)");
    this.#thread = new ThreadClient({
      open: openThread,
      silenceMs: SILENCE_MS,
      report: (reason) => log.event("checkpoint.thread_lost", { reason }, "warn"),
    });
    sqlite.run(`PRAGMA wal_autocheckpoint = ${LATE_PAGES}`);
  }

  onCommit(): void {
    this.#commits += 1;
    if (this.#commits % LOOK_EVERY !== 0 || this.#running !== null) return;
    const { log = 0 } = this.#state.get() ?? {};
    if (log >= CHECKPOINT_PAGES) this.#running = this.#checkpoint().finally(() => (this.#running = null));
  }

  onRollbackTo(): void {
    // Nothing was committed.
  }

  onRollback(): void {
    // Nothing was committed.
  }

  /** Resolves when no checkpoint is under way. */
  async stop(): Promise<void> {
    await this.#running;
    this.#thread.close();
  }

  async #checkpoint(): Promise<void> {
    try {
      for (let call = 0; call < CALLS; call++) {
        await this.#thread.call({ checkpointFile: this.#file });
        const { log = 0, checkpointed = 0 } = this.#state.get() ?? {};
        if (log - checkpointed <= REST_PAGES) break;
      }
      this.#sqlite.run("PRAGMA wal_checkpoint(PASSIVE)");
    } catch {
      // No thread, or a full disk: the log grows, and a COMMIT copies its pages. What fails then is reported there.
    }
  }
}

/** On the thread. */
export function checkpointLog(databaseFile: string): void {
  const sqlite = new Database(databaseFile, { readwrite: true, create: false });
  try {
    for (let pass = 0; pass < PASSES; pass++) sqlite.run("PRAGMA wal_checkpoint(PASSIVE)");
  } finally {
    sqlite.close();
  }
}
