import { Database } from "bun:sqlite";
import { BUILD } from "../../platform/build-info.ts";
import { MIGRATIONS } from "../../platform/db/schema/migrations.ts";
import { getDaemonVersion } from "../../backup/litestream/executable.ts";

/** `pombo version --json`; `pombo update` asks the new executable for it. */
export interface VersionRecord {
  version: string;
  commit: string;
  bun: string;
  sqlite: string;
  /** Null: it has none. */
  litestream: string | null;
  /** "x64", "arm64". */
  arch: string;
  /** How many migrations it knows: it does not open a database with more. */
  schema: number;
  /** Verifies downloaded updates, as minisign prints it; null: it takes local files only. */
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

export function versionText(): string {
  const record = versionRecord();
  const parts = [`Bun ${record.bun}`, `SQLite ${record.sqlite}`, `Litestream ${record.litestream ?? "none"}`];
  return `pombo ${formatVersion(record)}, ${parts.join(", ")}`;
}

/** "0.2.0 (commit abc)". */
export function formatVersion({ version, commit }: Pick<VersionRecord, "version" | "commit">): string {
  return `${version} (commit ${commit})`;
}
