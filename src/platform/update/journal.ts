// Records the progress of an update in a file of the data directory, so that whatever ends it (kill -9, a power cut)
// the next start knows what it finds. Written before each step that the words of its stage speak of.

import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { syncFolder } from "../db/file/snapshot.ts";
import { StartError } from "../errors.ts";
import { readPlainFile } from "../data-files.ts";

/**
 * In the order in which an update goes through them:
 * - `stopping`: nothing was changed yet; the running instance is asked to end, the database copied.
 * - `probing`: the copy is whole. The new executable may have changed the database, nobody accepted or sent a thing;
 *   at the end of it the new executable takes its place.
 * - `starting`: the new executable is in its place and may have been started. What it did is told by the fact
 *   `update_probation` of the database: while that is the update's id, it has changed nothing.
 * - `going-back`: it had changed nothing, and the copy is on its way back.
 */
export const STAGES = ["stopping", "probing", "starting", "going-back"] as const;
export type Stage = (typeof STAGES)[number];

const JournalSchema = Type.Object({
  id: Type.String(),
  stage: Type.Union(STAGES.map((stage) => Type.Literal(stage))),
  /** SHA-256 of the new executable, in hexadecimal digits. */
  sha256: Type.String(),
  /** For people: "0.2.0 (commit abc)". */
  from: Type.String(),
  to: Type.String(),
  /** The systemd unit that ran the instance when the update began; null: nothing, or no unit. */
  unit: Type.Union([Type.String(), Type.Null()]),
});
export type Journal = Static<typeof JournalSchema>;

const JOURNAL_MAX_BYTES = 16 * 1024;

export function snapshotFile(dataDir: string): string {
  return join(dataDir, "pombo.db.before-update");
}

function journalFile(dataDir: string): string {
  return join(dataDir, "update.json");
}

/** Null: no update is under way, or was cut off. Throws StartError when the file is not a journal. */
export function readJournal(dataDir: string): Journal | null {
  const file = journalFile(dataDir);
  try {
    const text = readPlainFile(file, JOURNAL_MAX_BYTES);
    if (text === null) return null;
    const journal: unknown = JSON.parse(text);
    if (Value.Check(JournalSchema, journal)) return journal;
  } catch {
    // No file of an update's.
  }
  throw new StartError(
    `${file} is not what pombo update wrote there. Find out who changed it. If the database ${join(dataDir, "pombo.db")} is the one you want to go on with, delete ${file}.`,
  );
}

/** Durable when it returns. */
export function writeJournal(dataDir: string, journal: Journal): void {
  const file = journalFile(dataDir);
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  const descriptor = openSync(draft, "wx", 0o600);
  try {
    writeFileSync(descriptor, `${JSON.stringify(journal)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(draft, file);
  syncFolder(file);
}

export function removeJournal(dataDir: string): void {
  const file = journalFile(dataDir);
  rmSync(file, { force: true });
  syncFolder(file);
}
