import { Database } from "bun:sqlite";
import { BUILD } from "../../platform/build-info.ts";
import { MIGRATIONS } from "../../platform/db/schema/migrations.ts";
import { getDaemonVersion } from "../../backup/litestream/executable.ts";

/** What this binary is made of, for programs: `pombo update` reads it of the executable that it is given. */
export interface VersionRecord {
  version: string;
  commit: string;
  bun: string;
  sqlite: string;
  /** Null: it has none. */
  litestream: string | null;
  /** "x64", "arm64". */
  arch: string;
  /** How many migrations it knows: of a database with more it keeps off. */
  schema: number;
  /** By which it knows updates from the network, as minisign prints it; null: it takes files of its machine alone. */
  releaseKey: string | null;
}

export function versionRecord(): VersionRecord {
  const { version, commit } = BUILD;
  const sqlite = new Database(":memory:").query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  return {
    version,
    commit,
    bun: Bun.version,
    sqlite: sqlite?.version ?? "unknown",
    litestream: getDaemonVersion(),
    arch: process.arch,
    schema: MIGRATIONS.length,
    releaseKey: BUILD.releaseKey,
  };
}

/** `pombo version`: the same in a line. */
export function versionText(): string {
  const made = versionRecord();
  const parts = [`Bun ${made.bun}`, `SQLite ${made.sqlite}`, `Litestream ${made.litestream ?? "none"}`];
  return `pombo ${nameOf(made)}, ${parts.join(", ")}`;
}

/** "0.2.0 (commit abc)": which one it is. */
export function nameOf({ version, commit }: Pick<VersionRecord, "version" | "commit">): string {
  return `${version} (commit ${commit})`;
}
