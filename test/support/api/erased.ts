// Looks for what an erasure must not leave: in the files of a database, byte by byte.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Which of `words` stand in the database or its write-ahead log. */
export function findInFiles(directory: string, words: readonly string[]): string[] {
  const files = ["pombo.db", "pombo.db-wal"].map((name) => join(directory, name)).filter((file) => existsSync(file));
  const all = files.map((file) => readFileSync(file));
  return words.filter((word) => all.some((bytes) => bytes.includes(word)));
}
