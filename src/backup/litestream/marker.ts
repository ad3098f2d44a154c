// The marker: a file beside the database that says how far the database has come. A backup that was put back is
// behind it, or has none. Its number grows in the database first, so that the file is never ahead of its database.

import { join } from "node:path";
import { getErrorMessage } from "../../platform/errors.ts";
import { BackgroundTask } from "../../platform/background-task.ts";
import type { Clock } from "../../platform/clock.ts";
import { readPlainFile, replaceFile } from "../../platform/data-files.ts";
import type { Commit } from "../../platform/db/group-commit.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { Log } from "../../platform/log.ts";

/** How far: starts of the instance, the newest first, and a number that only grows. */
export interface Mark {
  boots: string[];
  transaction: number;
}

/** Room for twenty starts and a number. */
const MARK_MAX_BYTES = 16 * 1024;
/** Starts that are remembered. */
const BOOTS = 20;
const INTERVAL_MS = 10_000;

/** The file's name in the data directory. */
export const MARKER = "marker";

function markerFile(dataDir: string): string {
  return join(dataDir, MARKER);
}

/** Null: it is not there, or cannot be read as one. */
export function parseMark(text: string | null): Mark | null {
  if (text === null) return null;
  try {
    const { boots, transaction } = JSON.parse(text) as Partial<Mark>;
    if (!Array.isArray(boots) || !boots.every((boot) => typeof boot === "string")) return null;
    return typeof transaction === "number" && Number.isSafeInteger(transaction) ? { boots, transaction } : null;
  } catch {
    return null;
  }
}

export function readMarker(dataDir: string): Mark | null {
  try {
    return parseMark(readPlainFile(markerFile(dataDir), MARK_MAX_BYTES));
  } catch {
    return null;
  }
}

export function writeMarker(dataDir: string, mark: Mark): void {
  replaceFile(markerFile(dataDir), JSON.stringify(mark));
}

/** The mark of a start that follows both. */
export function buildNextMark(database: Mark | null, marker: Mark | null, boot: string): Mark {
  const transaction = Math.max(database?.transaction ?? 0, marker?.transaction ?? 0) + 1;
  return { boots: [boot, ...(database?.boots ?? [])].slice(0, BOOTS), transaction };
}

/** Why the database may be one of an earlier time, as a sentence; null: it is not. `database` null: it was never started. */
export function explainStaleDatabase(database: Mark | null, marker: Mark | null): string | null {
  if (marker === null) {
    return database === null
      ? null
      : "the file marker is not beside the database, as after putting back a backup: what was delivered since would be sent again.";
  }
  if (marker.transaction <= (database?.transaction ?? 0)) return null;
  return "the database is older than the file marker beside it, as after putting back a backup: what was delivered since would be sent again.";
}

export interface MarkerWriterDeps {
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

/** Keeps the marker up with the database while anything is written. */
export class MarkerWriter {
  readonly #deps: MarkerWriterDeps;
  readonly #task: BackgroundTask;
  #mark: Mark;
  #seen: number;

  constructor(deps: MarkerWriterDeps) {
    this.#deps = deps;
    this.#mark = deps.mark;
    this.#seen = deps.changes();
    const { clock, log } = deps;
    this.#task = new BackgroundTask({ name: "marker", run: () => this.#advance(), clock, log });
  }

  /** Writes the file. */
  start(): void {
    this.#writeFile();
    this.#task.start(INTERVAL_MS);
  }

  /** Records what the last moments have written. */
  async stop(): Promise<void> {
    await this.#task.stop();
    try {
      await this.#advance();
    } catch (error) {
      if (!isStorageError(error)) this.#deps.log.error("marker", error);
    }
  }

  async #advance(): Promise<number> {
    const { changes, write, commit } = this.#deps;
    if (changes() !== this.#seen) {
      const next = { ...this.#mark, transaction: this.#mark.transaction + 1 };
      const seen = await commit(() => {
        write(JSON.stringify(next));
        return changes();
      });
      this.#mark = next;
      this.#seen = seen;
      this.#writeFile();
    }
    return INTERVAL_MS;
  }

  #writeFile(): void {
    try {
      writeMarker(this.#deps.dataDir, this.#mark);
    } catch (error) {
      // Behind the database it does no harm; a full disk is reported by the guard.
      const reason = getErrorMessage(error);
      this.#deps.log.event("marker.unwritten", { reason }, "warn");
    }
  }
}
