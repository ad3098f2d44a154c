import { Database } from "bun:sqlite";

// Set by script/build; a run from source has neither.
declare const POMBO_VERSION: string | undefined;
declare const POMBO_COMMIT: string | undefined;

/** `pombo version`: what this binary is made of. */
export function versionText(): string {
  const version = typeof POMBO_VERSION === "string" ? POMBO_VERSION : "0.1.0-source";
  const commit = typeof POMBO_COMMIT === "string" ? POMBO_COMMIT : "unknown";
  const sqlite = new Database(":memory:").query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  return `pombo ${version} (commit ${commit}), Bun ${Bun.version}, SQLite ${sqlite?.version ?? "unknown"}`;
}
