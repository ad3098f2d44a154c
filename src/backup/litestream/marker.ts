import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readPlainFile } from "../../platform/data-files.ts";

// The marker: a file beside the database that says how far the database has come, as the database says of itself.
// A database put back from a backup is behind it, or has none beside it.

/** How far: starts of the instance, the newest first, and a number that only grows. */
export interface Mark {
  boots: string[];
  transaction: number;
}

/** Of twenty starts and a number. */
const MARK_MAX_BYTES = 16 * 1024;
/** Starts that are remembered. */
const BOOTS = 20;

/** The file's name in the data directory. */
export const MARKER = "marker";

function markerFile(dataDir: string): string {
  return join(dataDir, MARKER);
}

/** Null: it is not there, or cannot be read as one. */
export function readMark(text: string | null): Mark | null {
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
    return readMark(readPlainFile(markerFile(dataDir), MARK_MAX_BYTES));
  } catch {
    return null;
  }
}

/** Synced and renamed into place: after a power cut it is the new one or the one before, and never half a one. */
export function writeMarker(dataDir: string, mark: Mark): void {
  const file = markerFile(dataDir);
  rmSync(`${file}.new`, { force: true });
  const descriptor = openSync(`${file}.new`, "wx", 0o600);
  try {
    writeSync(descriptor, JSON.stringify(mark));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(`${file}.new`, file);
}

/** The mark of a start that follows both. */
export function nextBoot(database: Mark | null, marker: Mark | null, boot: string): Mark {
  const transaction = Math.max(database?.transaction ?? 0, marker?.transaction ?? 0) + 1;
  return { boots: [boot, ...(database?.boots ?? [])].slice(0, BOOTS), transaction };
}

/** Why the database may be one of an earlier time, as a sentence; null: it is not. `database` null: it was never started. */
export function pastOf(database: Mark | null, marker: Mark | null): string | null {
  if (marker === null) {
    return database === null
      ? null
      : "the file marker is not beside the database, as after putting back a backup: what was delivered since would be sent again.";
  }
  if (marker.transaction <= (database?.transaction ?? 0)) return null;
  return "the database is older than the file marker beside it, as after putting back a backup: what was delivered since would be sent again.";
}
