import { Database } from "bun:sqlite";
import { BUILD } from "../build.ts";

/** `pombo version`: what this binary is made of. */
export function versionText(): string {
  const { version, commit } = BUILD;
  const sqlite = new Database(":memory:").query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  return `pombo ${version} (commit ${commit}), Bun ${Bun.version}, SQLite ${sqlite?.version ?? "unknown"}`;
}
