import { Database } from "bun:sqlite";
import { BUILD } from "../../platform/build-info.ts";
import { MIGRATIONS } from "../../platform/db/schema/migrations.ts";
import { getDaemonVersion } from "../../backup/litestream/executable.ts";

export type VersionRecord = ReturnType<typeof versionRecord>;

/** `pombo version --json`; `pombo update` asks the new executable for it. */
export function versionRecord() {
  const { version, commit } = BUILD;
  const sqlite = new Database(":memory:").query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  return {
    version,
    commit,
    bun: Bun.version,
    sqlite: sqlite?.version ?? "unknown",
    /** Null: it has none. */
    litestream: getDaemonVersion(),
    arch: process.arch,
    /** How many migrations it knows: it does not open a database with more. */
    schema: MIGRATIONS.length,
    /** Verifies downloaded updates, as minisign prints it; null: it takes local files only. */
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
