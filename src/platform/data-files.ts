// Reads small files that pombo itself writes into its data directory. Anything else in such a place is refused: a link
// leads elsewhere, a pipe would block, a large file would fill the memory.

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";

/** The content of a regular file; null: there is none. Throws for anything else, and for a larger one. */
export function readPlainFile(file: string, maxBytes: number): string | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let descriptor: number;
  try {
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) throw new Error(`${file} is no plain file`);
    if (found.size > maxBytes) throw new Error(`${file} has ${found.size} bytes, more than pombo writes there`);
    return readFileSync(descriptor, "utf8");
  } finally {
    closeSync(descriptor);
  }
}

/** In bytes; 0: there is none. */
export function getFileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Writes a file of the owner's, synced and renamed into place: after a power cut it is the new one or the one before, and never half a one. */
export function replaceFile(file: string, text: string): void {
  rmSync(`${file}.new`, { force: true });
  const descriptor = openSync(`${file}.new`, "wx", 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(`${file}.new`, file);
}
