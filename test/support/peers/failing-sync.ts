import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A disk whose syncs fail while a test wants it, for one process that is started with its environment. */
export interface FailingSync {
  env: Record<string, string>;
  begin(): void;
  end(): void;
}

/** Builds it in `folder`; null: there is no C compiler here. */
export function buildFailingSync(folder: string): FailingSync | null {
  const compiler = Bun.which("cc") ?? Bun.which("gcc") ?? Bun.which("clang");
  if (compiler === null) return null;
  const library = join(folder, "failing-sync.so");
  const built = Bun.spawnSync(
    [compiler, "-shared", "-fPIC", "-O1", "-o", library, join(import.meta.dir, "failing-sync.c")],
    {
      stdin: "ignore",
    },
  );
  if (built.exitCode !== 0) throw new Error(`failing-sync.c cannot be built: ${built.stderr.toString()}`);
  const switchFile = join(folder, "failing-sync.on");
  return {
    env: { LD_PRELOAD: library, FAILING_SYNC: switchFile },
    begin: () => writeFileSync(switchFile, ""),
    end: () => rmSync(switchFile, { force: true }),
  };
}
