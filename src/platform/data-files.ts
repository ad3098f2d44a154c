import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

// Small files that pombo itself writes into its data directory. Whatever stands in the place of one by mistake or by
// malice is not read: a link leads elsewhere, a pipe would be waited for, a large file would fill the memory.

/** The text of a plain file; null: there is none. Throws where it is no such file, or larger. */
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
