import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import type { Db } from "./open.ts";

// What a start finds in the write-ahead log it takes for durable, and appends to it. After a sync that failed this is
// not so: the system may show a page that it never wrote and will not write any more, since it counts as written. A
// power cut would then cut the log off in front of everything that was accepted later. So a log that a run left
// behind is written once more, with the same bytes, and synced.

const CHUNK_BYTES = 1024 * 1024;

/** Nobody appends to the log or begins it anew meanwhile: the transaction holds its lock. */
export function syncLogAnew({ sqlite }: Pick<Db, "sqlite">, databaseFile: string): void {
  sqlite.run("BEGIN IMMEDIATE");
  try {
    writeAnew(`${databaseFile}-wal`);
  } finally {
    sqlite.run("ROLLBACK");
  }
}

function writeAnew(file: string): void {
  const descriptor = openSync(file, "r+");
  try {
    const { size } = fstatSync(descriptor);
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size));
    for (let at = 0; at < size;) {
      const length = readSync(descriptor, chunk, 0, Math.min(chunk.length, size - at), at);
      if (length === 0) break;
      writeWhole(descriptor, chunk.subarray(0, length), at);
      at += length;
    }
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function writeWhole(descriptor: number, bytes: Uint8Array, at: number): void {
  for (let written = 0; written < bytes.length;) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, at + written);
  }
}
