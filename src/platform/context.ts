// The dependencies of every module, and the interface of every module towards the server.

import type { Clock } from "./clock.ts";
import type { ReadFree } from "./db/disk-guard.ts";
import type { Commit } from "./db/group-commit.ts";
import type { HealthIssue } from "./health-issue.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";

/** The disk guard, as modules see it. */
export interface StorageGuard {
  /** Why outcomes cannot be recorded now, so that nothing may be sent; null: they can. */
  readonly failure: string | null;
  /** Calls `run` when they can again; the returned function ends that. */
  whenOpen(run: () => void): () => void;
}

/** The outside world, as an argument. */
export interface Environment {
  clock: Clock;
  random: Random;
  log: Log;
  /** Measures spans, and never jumps; default: `clock`. */
  steady?: Clock;
  /** Ends the process at once, with the reason: the instance cannot go on, and no commit is settled any more. */
  fatal?: (reason: string) => void;
  /** Free space of the data directory's file system; default: the real one. */
  readFree?: ReadFree;
  /** In bytes, for the bodies of requests and for messages in delivery; default: what the machine and its cgroup allow. */
  memory?: number;
}

/** Resolves when all that was committed before the call is durable. */
export type Kept = () => Promise<void>;

export interface Context {
  /** Runs a function inside the next transaction; resolves when that is durable: what is promised to others. */
  commit: Commit;
  /**
   * The same for what a crash may undo harmlessly: resolves when it is on this machine's disk. `commit` also waits until
   * the replica has it, where [replication] acknowledge = "replica" says so, and rejects with NotReplicatedError after 30 s.
   */
  commitHere: Commit;
  /** What was committed before is as durable as by `commit`, however long that takes. Rejects only when pombo stops. Absent: it always is. */
  kept?: Kept | undefined;
  clock: Clock;
  /** Measures spans, and never jumps. */
  steady: Clock;
  random: Random;
  log: Log;
  guard: StorageGuard;
}

/** A part that the server starts, asks and ends. All are called in the order of the server's list; drain in parallel, stop in reverse. */
export interface Component {
  start?(): Promise<void> | void;
  /** Begins nothing more and gives what is under way `graceMs`. Resolves with how many outcomes could not be recorded. */
  drain?(graceMs: number): Promise<number>;
  /** Ends everything at once. */
  stop?(): Promise<void> | void;
  issues?(): HealthIssue[];
}
