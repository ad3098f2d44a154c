import { statfsSync } from "node:fs";
import type { Clock } from "../clock.ts";
import type { Committer } from "./commit.ts";
import { StorageError } from "./storage-error.ts";

// The disk guard. While the storage is unwell nothing is accepted (503) and nothing is sent: an
// answer that could not be recorded would be sent again. It closes when a commit fails or the disk
// runs low, tries a small write every second, and opens by itself once that holds.

const PROBE_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 5_000;

export interface DiskLimits {
  minFreeBytes: number;
  minFreeInodesPercent: number;
}

/** What is free on the file system of the data directory. */
export type ReadFree = () => { freeBytes: number; freeInodesPercent: number };

export function freeSpaceOf(directory: string): ReadFree {
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
  /** The small write that shows the storage works again. */
  probe: () => void;
  clock: Clock;
  limits: DiskLimits;
  readFree: ReadFree;
  /** Told once at each change; `reason` is null when all is well again. */
  changed: (reason: string | null) => void;
}

export class DiskGuard {
  readonly #options: GuardOptions;
  readonly #waiters = new Set<() => void>();
  #failure: string | null = null;
  #shortage: string | null = null;
  #told: string | null = null;
  #cancelProbe: (() => void) | null = null;
  #cancelLook: (() => void) | null = null;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  start(): void {
    this.#look();
  }

  /** Why nothing may be accepted or sent now, or null. */
  get trouble(): string | null {
    return this.#failure ?? this.#shortage;
  }

  /** Why outcomes cannot be recorded now, or null. A low disk still records: it only takes nothing new. */
  get failure(): string | null {
    return this.#failure;
  }

  /** A commit failed: close until a write succeeds again. */
  raise(error: StorageError): void {
    this.#failure = error.message;
    this.#tell();
    this.#cancelProbe ??= this.#options.clock.after(PROBE_EVERY_MS, () => this.#probe());
  }

  /** Calls `run` each time the guard opens; the returned function ends that. */
  whenOpen(run: () => void): () => void {
    this.#waiters.add(run);
    return () => this.#waiters.delete(run);
  }

  stop(): void {
    this.#cancelProbe?.();
    this.#cancelLook?.();
    this.#cancelProbe = this.#cancelLook = null;
  }

  #probe(): void {
    this.#cancelProbe = null;
    this.#options.committer
      .commit(() => this.#options.probe())
      .then(
        () => {
          this.#failure = null;
          this.#tell();
        },
        () => undefined, // raise() was called again by the committer's hook and has set the next probe
      );
  }

  #look(): void {
    this.#cancelLook = this.#options.clock.after(LOOK_EVERY_MS, () => this.#look());
    const { limits, readFree } = this.#options;
    const free = readFree();
    if (free.freeBytes < limits.minFreeBytes) {
      this.#shortage = `the disk has ${mebibytes(free.freeBytes)} MiB free, less than [disk] min_free (${mebibytes(limits.minFreeBytes)} MiB)`;
    } else if (free.freeInodesPercent < limits.minFreeInodesPercent) {
      this.#shortage = `the disk has ${free.freeInodesPercent.toFixed(1)} % of its inodes free, less than [disk] min_free_inodes_percent`;
    } else {
      this.#shortage = null;
    }
    this.#tell();
  }

  #tell(): void {
    const now = this.trouble;
    if ((now === null) === (this.#told === null)) return;
    this.#told = now;
    this.#options.changed(now);
    if (now === null) for (const run of this.#waiters) run();
  }
}

function mebibytes(bytes: number): string {
  return Math.floor(bytes / 1024 / 1024).toString();
}
