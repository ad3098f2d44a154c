// Known outcomes of attempts that the database cannot record now, kept in a file for the next start.
//
// Every write to the database takes a new page of its write-ahead log, which a full disk does not have. This file has its
// size from its first use on and is written in place, so it takes outcomes when the disk is full, and also when an internal
// error keeps a row from being written. It only has those that are not recorded: mostly none.

import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { getErrorCode } from "../errors.ts";
import type { Log } from "../log.ts";
import type { InterruptedJob, Job } from "./job.ts";

const SLOT_BYTES = 2_048;
/** As many as may fail before nothing is begun any more (result-recorder.ts). */
const SLOTS = 1_024;
const FILE_BYTES = SLOTS * SLOT_BYTES;
const EMPTY = Buffer.alloc(SLOT_BYTES, "\n");

type Attempt = Pick<Job, "id" | "attempt" | "startedAt">;
interface Entry extends Attempt {
  outcome: string;
}

export class OutcomeJournal {
  readonly #file: string;
  readonly #log: Pick<Log, "event">;
  readonly #slots = new Map<number, { slot: number; entry: Entry }>();
  #descriptor: number | null = null;
  #isSyncing = false;

  constructor(file: string, log: Pick<Log, "event">) {
    this.#file = file;
    this.#log = log;
  }

  /** At a start: opens or makes the file, and reads the entries of an earlier run. Without room for the file pombo runs without it. */
  open(): void {
    if (this.#descriptor !== null) return;
    try {
      this.#descriptor = openSlots(this.#file);
      const bytes = Buffer.alloc(FILE_BYTES);
      readSync(this.#descriptor, bytes, 0, FILE_BYTES, 0);
      for (let slot = 0; slot < SLOTS; slot += 1) {
        const entry = parseEntry(bytes.subarray(slot * SLOT_BYTES, (slot + 1) * SLOT_BYTES));
        if (entry !== null) this.#slots.set(entry.id, { slot, entry });
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The entry survives a kill at once, and a power cut after the sync. Without a free slot it is not kept. */
  add({ id, attempt, startedAt }: Attempt, outcome: string): void {
    if (this.#slots.has(id)) return;
    this.open();
    const bytes = Buffer.from(EMPTY);
    const entry = { id, attempt, startedAt, outcome };
    const text = JSON.stringify(entry);
    const slot = this.#findFree();
    if (this.#descriptor === null || slot === null || Buffer.byteLength(text) > SLOT_BYTES) return;
    bytes.write(text);
    if (!this.#write(slot, bytes)) return;
    this.#slots.set(id, { slot, entry });
    this.#syncSoon(this.#descriptor);
  }

  /** The outcome is recorded. An entry that a crash brings back matches no row. */
  remove(id: number): void {
    const found = this.#slots.get(id);
    if (found === undefined) return;
    this.#slots.delete(id);
    this.#write(found.slot, EMPTY);
  }

  /** The outcome of this very attempt; null: not known. */
  find({ id, attempts, startedAt }: InterruptedJob): string | null {
    const entry = this.#slots.get(id)?.entry;
    return entry?.attempt === attempts && entry.startedAt === startedAt ? entry.outcome : null;
  }

  /** Removes all but those of these rows. */
  retain(ids: ReadonlySet<number>): void {
    for (const id of this.#slots.keys()) if (!ids.has(id)) this.remove(id);
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }

  #findFree(): number | null {
    const taken = new Set(Array.from(this.#slots.values(), ({ slot }) => slot));
    for (let slot = 0; slot < SLOTS; slot += 1) if (!taken.has(slot)) return slot;
    return null;
  }

  #write(slot: number, bytes: Buffer): boolean {
    try {
      if (this.#descriptor === null) return false;
      return writeSync(this.#descriptor, bytes, 0, SLOT_BYTES, slot * SLOT_BYTES) === SLOT_BYTES;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** Those of one turn share a sync. */
  #syncSoon(descriptor: number): void {
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    setImmediate(() => {
      this.#isSyncing = false;
      if (this.#descriptor === descriptor) fdatasync(descriptor, (error) => error !== null && this.#fail(error));
    });
  }

  #fail(error: unknown): void {
    this.#log.event("outcomes.unwritable", { reason: String(error) }, "warn");
  }
}

/** A whole file, with all its blocks on the disk. */
function openSlots(file: string): number {
  const { O_RDWR, O_NOFOLLOW, O_CREAT, O_TRUNC } = constants;
  try {
    const descriptor = openSync(file, O_RDWR | O_NOFOLLOW);
    if (fstatSync(descriptor).size === FILE_BYTES) return descriptor;
    closeSync(descriptor);
  } catch (error) {
    if (getErrorCode(error) !== "ENOENT") throw error;
  }
  const draft = `${file}.new`;
  const descriptor = openSync(draft, O_RDWR | O_NOFOLLOW | O_CREAT | O_TRUNC, 0o600);
  try {
    for (let slot = 0; slot < SLOTS; slot += 1) writeSync(descriptor, EMPTY);
    fsyncSync(descriptor);
    renameSync(draft, file);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Null: the slot is empty, or a crash cut its writing off. */
function parseEntry(bytes: Buffer): Entry | null {
  try {
    return bytes[0] === EMPTY[0] ? null : (JSON.parse(bytes.toString()) as Entry);
  } catch {
    return null;
  }
}
