import { Database } from "bun:sqlite";
import { BUILD } from "../build.ts";
import { MIGRATIONS } from "../db/migrations.ts";

/** What this binary is made of, for programs: `pombo update` reads it of the executable that it is given. */
export interface VersionRecord {
  version: string;
  commit: string;
  bun: string;
  sqlite: string;
  /** "x64", "arm64". */
  arch: string;
  /** How many migrations it knows: of a database with more it keeps off. */
  schema: number;
}

export function versionRecord(): VersionRecord {
  const sqlite = new Database(":memory:").query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  return {
    ...BUILD,
    bun: Bun.version,
    sqlite: sqlite?.version ?? "unknown",
    arch: process.arch,
    schema: MIGRATIONS.length,
  };
}

/** `pombo version`: the same in a line. */
export function versionText(): string {
  const { version, commit, bun, sqlite } = versionRecord();
  return `pombo ${version} (commit ${commit}), Bun ${bun}, SQLite ${sqlite}`;
}

/** "0.2.0 (commit abc)": which one it is. */
export function nameOf({ version, commit }: Pick<VersionRecord, "version" | "commit">): string {
  return `${version} (commit ${commit})`;
}
