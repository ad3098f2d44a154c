// Whether the file that this process was started from is still the same.

import { statSync } from "node:fs";

/** The returned function says whether another file lies there now. */
export function watchExecutable(path = process.execPath): () => boolean {
  const before = identify(path);
  return () => {
    const now = identify(path);
    return before !== null && now !== null && now !== before;
  };
}

/** Null: there is none, or it cannot be seen. */
function identify(path: string): string | null {
  try {
    const { dev, ino, size, mtimeMs } = statSync(path);
    return `${dev} ${ino} ${size} ${mtimeMs}`;
  } catch {
    return null;
  }
}
