import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Committer, type CommitterHooks } from "../../../src/platform/db/group-commit.ts";
import { type Db, openDatabase } from "../../../src/platform/db/open.ts";

/** A folder that is gone with the test. */
export function temporaryFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "pombo-db-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export interface TemporaryDatabase {
  db: Db;
  file: string;
  committer: Committer;
  [Symbol.dispose](): void;
}

/** A migrated database in a file of its own, with a committer whose time stands still unless a hook says otherwise. */
export function temporaryDatabase(hooks: CommitterHooks = {}): TemporaryDatabase {
  const folder = temporaryFolder();
  const file = join(folder.path, "test.db");
  const db = openDatabase(file);
  // Not copied: some tests name their hooks later.
  hooks.now ??= () => 0;
  return {
    db,
    file,
    committer: new Committer(db, hooks),
    [Symbol.dispose]() {
      db.close();
      folder[Symbol.dispose]();
    },
  };
}

/** Lets the queued closures and what awaits them run: as many turns of the event loop as `turns`. */
export async function turn(turns = 1): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** A seeded source of numbers in [0, 1): mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
