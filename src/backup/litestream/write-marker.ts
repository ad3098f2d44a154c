import type { Clock } from "../../platform/clock.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { Log } from "../../platform/log.ts";
import { type Mark, writeMarker } from "./marker.ts";

// Keeps the marker up with the database: while anything is written, its number grows every few seconds, first in
// the database and then in the file, so that the file is never ahead of the database it belongs to.

const BEAT_MS = 10_000;

export interface KeptMarkerDeps {
  dataDir: string;
  /** As this start has committed it. */
  mark: Mark;
  /** Rows changed so far. */
  changes: () => number;
  /** Inside a transaction. */
  write: (value: string) => void;
  commit: Commit;
  clock: Clock;
  log: Log;
}

export class KeptMarker {
  readonly #deps: KeptMarkerDeps;
  #mark: Mark;
  #seen: number;
  #cancel: (() => void) | null = null;
  #isStopped = false;

  constructor(deps: KeptMarkerDeps) {
    this.#deps = deps;
    this.#mark = deps.mark;
    this.#seen = deps.changes();
  }

  /** Writes the file. */
  start(): void {
    this.#writeFile();
    this.#later();
  }

  /** Takes down what the last moments have written. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#beat();
  }

  #later(): void {
    this.#cancel = this.#deps.clock.after(BEAT_MS, () => {
      void this.#beat().then(() => (this.#isStopped ? undefined : this.#later()));
    });
  }

  async #beat(): Promise<void> {
    const { changes, write, commit, log } = this.#deps;
    if (changes() === this.#seen) return;
    const next = { ...this.#mark, transaction: this.#mark.transaction + 1 };
    try {
      await commit(() => write(JSON.stringify(next)));
      this.#mark = next;
      this.#seen = changes();
      this.#writeFile();
    } catch (error) {
      // Of trouble with the storage the guard tells.
      if (!isStorageError(error)) log.error("marker", error);
    }
  }

  #writeFile(): void {
    try {
      writeMarker(this.#deps.dataDir, this.#mark);
    } catch (error) {
      // Behind the database it does no harm; a full disk is the guard's to tell.
      this.#deps.log.event(
        "marker.unwritten",
        { reason: error instanceof Error ? error.message : String(error) },
        "warn",
      );
    }
  }
}
