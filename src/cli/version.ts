import { Database } from "bun:sqlite";
import { BUILD } from "../build.ts";
import { daemonVersion } from "../litestream/daemon.ts";

/** `pombo version`: what this binary is made of. */
export function versionText({ json }: { json: boolean }): string {
  const { version, commit } = BUILD;
  const sqlite = new Database(":memory:").query<{ version: string }, []>("SELECT sqlite_version() AS version").get();
  const made = { version, commit, bun: Bun.version, sqlite: sqlite?.version ?? "unknown", litestream: daemonVersion() };
  if (json) return JSON.stringify(made);
  const parts = [`Bun ${made.bun}`, `SQLite ${made.sqlite}`, `Litestream ${made.litestream ?? "none"}`];
  return `pombo ${version} (commit ${commit}), ${parts.join(", ")}`;
}
