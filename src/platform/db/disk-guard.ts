// The disk guard: stops accepting and sending while the storage fails, the disk runs low, or the replica is behind that must
// have what is answered.

import { statfsSync } from "node:fs";
import { BackgroundTask } from "../background-task.ts";
import type { Clock } from "../clock.ts";
import type { HealthIssue } from "../health-issue.ts";
import type { Log } from "../log.ts";
import type { Committer } from "./group-commit.ts";
import { getErrorMessage } from "../errors.ts";

// While a commit fails nothing is accepted (503) and nothing is sent: an outcome that could not be recorded would be
// sent again. A write is tried every second; the guard opens when it holds. While the disk runs low nothing is accepted.

const PROBE_EVERY_MS = 1_000;
/**
 * As much as the records of everything that may be under way at once. A write that fits into an existing page would
 * prove nothing: mail would be sent, and there would be no room for its outcomes.
 */
const PROBE_BYTES = 256 * 1024;
const LOOK_EVERY_MS = 5_000;
/** A sync that takes longer: the disk or its network is away. */
const STALLED_MS = 10_000;

export interface DiskLimits {
  minFreeBytes: number;
  minFreeInodesPercent: number;
}

/** Reads what is free on the file system of the data directory. */
export type ReadFree = () => { freeBytes: number; freeInodesPercent: number };

export function createFreeSpaceReader(directory: string): ReadFree {
  return () => {
    const stats = statfsSync(directory);
    return {
      freeBytes: stats.bavail * stats.bsize,
      // Some file systems (btrfs, overlay on it) count no inodes.
      freeInodesPercent: stats.files > 0 ? (100 * stats.ffree) / stats.files : 100,
    };
  };
}

export interface GuardOptions {
  committer: Committer;
  /** The write that shows that the storage works again: called with something to keep, then with the empty string. */
  probe: (padding: string) => void;
  clock: Clock;
  log: Pick<Log, "error">;
  limits: DiskLimits;
  readFree: ReadFree;
  /** Called at each change; null: all is well again. */
  changed: (reason: string | null) => void;
}

export class DiskGuard {
  readonly #options: GuardOptions;
  readonly #waiters = new Set<() => void>();
  #failure: string | null = null;
  #failedAt = 0;
  #shortage: string | null = null;
  #shortAt = 0;
  #freeBytes: number | null = null;
  #behind: { reason: string; since: number } | null = null;
  #told: string | null = null;
  /** A commit failed since the probe under way began. */
  #isRaised = false;
  readonly #probing: BackgroundTask;
  readonly #looking: BackgroundTask;

  constructor(options: GuardOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#probing = new BackgroundTask({
      name: "storage probe",
      run: () => this.#probe(),
      clock,
      log,
      retryMs: PROBE_EVERY_MS,
    });
    this.#looking = new BackgroundTask({ name: "free space", run: () => this.#look(), clock, log });
  }

  start(): void {
    this.#looking.start();
  }

  /** Why nothing may be accepted or sent now, or null. */
  get blockedReason(): string | null {
    return this.failure ?? this.#shortage;
  }

  /** Why nothing may be sent now, or null: the storage fails, or the replica is behind. A low disk only takes nothing new. */
  get failure(): string | null {
    return this.#failure ?? this.#behind?.reason ?? null;
  }

  /** At the last look, five seconds ago at the most; null: it cannot be read. */
  get freeBytes(): number | null {
    return this.#freeBytes;
  }

  /** Bytes until new messages are refused; null: not known. */
  get spareBytes(): number | null {
    const { minFreeBytes } = this.#options.limits;
    return this.#freeBytes === null ? null : Math.max(0, this.#freeBytes - minFreeBytes);
  }

  /** All that is wrong now, each with its beginning. */
  get issues(): HealthIssue[] {
    const issues: HealthIssue[] = [];
    if (this.#failure !== null) {
      const reason = `${this.#failure}. Nothing is accepted or sent until a write succeeds; one is tried every second.`;
      issues.push({ component: "database", reason, since: this.#failedAt });
    }
    if (this.#behind !== null) {
      const reason = `${this.#behind.reason}. Nothing is accepted or sent until it has caught up; pombo tries all the time. pombo status and the log (replication.*) say why.`;
      issues.push({ component: "replication", kind: "behind", reason, since: this.#behind.since });
    }
    if (this.#shortage !== null) {
      const reason = `${this.#shortage}. Nothing new is accepted until there is room; what is queued is sent.`;
      issues.push({ component: "disk", reason, since: this.#shortAt });
    }
    return issues;
  }

  /** A commit failed, or its sync takes too long: close until a write succeeds again. */
  raise(error: Error): void {
    this.#isRaised = true;
    if (this.#failure === null) {
      this.#failedAt = this.#options.clock.now();
      this.#probing.start(PROBE_EVERY_MS);
    }
    this.#failure = error.message;
    this.#tell();
  }

  /** The replica, which must have what is answered, is behind for this reason; null: it has caught up. */
  setBehind(reason: string | null): void {
    const { clock } = this.#options;
    this.#behind = reason === null ? null : { reason, since: this.#behind?.since ?? clock.now() };
    if (reason === null) this.#open();
  }

  /** Calls `run` each time outcomes can be recorded again; the returned function ends that. */
  whenOpen(run: () => void): () => void {
    this.#waiters.add(run);
    return () => this.#waiters.delete(run);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#probing.stop(), this.#looking.stop()]);
  }

  async #probe(): Promise<number | null> {
    const { committer, probe } = this.#options;
    this.#isRaised = false;
    // In two transactions: what comes and goes within one is not written.
    await committer.commit(() => probe("x".repeat(PROBE_BYTES)));
    await committer.commit(() => probe(""));
    if (this.#isRaised) return PROBE_EVERY_MS;
    this.#failure = null;
    this.#tell();
    this.#open();
    return null;
  }

  #open(): void {
    if (this.failure !== null) return;
    for (const run of this.#waiters) {
      try {
        run();
      } catch (error) {
        // The others are waiting too.
        this.#options.log.error("storage", error);
      }
    }
  }

  #look(): number {
    const shortage = this.#findShortage();
    if (this.#shortage === null) this.#shortAt = this.#options.clock.now();
    this.#shortage = shortage;
    const { unsyncedMs } = this.#options.committer;
    if (unsyncedMs > STALLED_MS && this.#failure === null)
      this.raise(new Error(`the disk has not synced the database's log for ${Math.floor(unsyncedMs / 1_000)} s`));
    this.#tell();
    return LOOK_EVERY_MS;
  }

  #findShortage(): string | null {
    const { limits, readFree } = this.#options;
    let free: ReturnType<ReadFree>;
    this.#freeBytes = null;
    try {
      free = readFree();
      this.#freeBytes = free.freeBytes;
    } catch (error) {
      // The data directory is gone or its disk does not answer: nothing new can be taken. Without the path, which
      // stands behind the comma: /ready shows this to anybody.
      return `the free space of the data directory cannot be read: ${getErrorMessage(error).split(",")[0]}`;
    }
    if (free.freeBytes < limits.minFreeBytes) {
      return `the disk has ${mebibytes(free.freeBytes)} MiB free, less than [disk] min_free (${mebibytes(limits.minFreeBytes)} MiB)`;
    }
    if (free.freeInodesPercent < limits.minFreeInodesPercent) {
      return `the disk has ${free.freeInodesPercent.toFixed(1)} % of its inodes free, less than [disk] min_free_inodes_percent`;
    }
    return null;
  }

  #tell(): void {
    // The replica has events of its own.
    const now = this.#failure ?? this.#shortage;
    if ((now === null) === (this.#told === null)) return;
    this.#told = now;
    this.#options.changed(now);
  }
}

function mebibytes(bytes: number): string {
  return Math.floor(bytes / 1024 / 1024).toString();
}
