// Libraries that are loaded before libc (LD_PRELOAD) and stand between pombo and its disk.

import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A disk whose syncs fail while a test wants it, for one process that is started with its environment. */
export interface FailingSync {
  env: Record<string, string>;
  /** `after`: so many syncs succeed first. */
  begin(after?: number): void;
  end(): void;
}

/** Builds one of this folder's C files in `folder`; null: there is no C compiler here. */
function buildLibrary(folder: string, name: string): string | null {
  const compiler = Bun.which("cc") ?? Bun.which("gcc") ?? Bun.which("clang");
  if (compiler === null) return null;
  const library = join(folder, `${name}.so`);
  const source = join(import.meta.dir, `${name}.c`);
  const built = Bun.spawnSync([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], { stdin: "ignore" });
  if (built.exitCode !== 0) throw new Error(`${name}.c cannot be built: ${built.stderr.toString()}`);
  return library;
}

export function buildFailingSync(folder: string): FailingSync | null {
  const library = buildLibrary(folder, "failing-sync");
  if (library === null) return null;
  const switchFile = join(folder, "failing-sync.on");
  return {
    env: { LD_PRELOAD: library, FAILING_SYNC: switchFile },
    begin: (after = 0) => writeFileSync(switchFile, " ".repeat(after)),
    end: () => rmSync(switchFile, { force: true }),
  };
}

/** A disk that keeps only what was synced, for one process at a time. */
export interface PowerCut {
  env: Record<string, string>;
  /** Before a start: the files of now are on the disk. */
  begin(): void;
  /** After a SIGKILL: the files become what was synced of them. */
  cut(): void;
}

export function buildPowerCut(folder: string, dataDir: string): PowerCut | null {
  const library = buildLibrary(folder, "power-cut");
  if (library === null) return null;
  const synced = join(folder, "synced");
  const files = ["pombo.db", "pombo.db-wal"];
  const copyAll = (from: string, to: string) => {
    for (const name of files) {
      rmSync(join(to, name), { force: true });
      if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
    }
  };
  return {
    env: { LD_PRELOAD: library, POWER_CUT: synced },
    begin() {
      mkdirSync(synced, { recursive: true });
      copyAll(dataDir, synced);
    },
    cut() {
      rmSync(join(dataDir, "pombo.db-shm"), { force: true });
      copyAll(synced, dataDir);
    },
  };
}
