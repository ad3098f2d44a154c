// Reads of a database file that came from elsewhere, without migrating it.

import { Database } from "bun:sqlite";
import { computeFingerprint, MIGRATIONS } from "../schema/migrations.ts";

export type DatabaseContents = ReturnType<typeof readContents>;

/** How the schema of a file compares with that of this executable. `newer`, `foreign`: it cannot be used. */
export function readSchemaState(file: string): { kind: "usable" | "newer" | "foreign" | "none"; version: number } {
  using sqlite = new Database(file, { readwrite: true });
  const number = (pragma: string) => sqlite.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0;
  const version = number("user_version");
  if (version === 0) return { kind: "none", version };
  if (version > MIGRATIONS.length) return { kind: "newer", version };
  return { kind: number("application_id") === computeFingerprint(version) ? "usable" : "foreign", version };
}

/** Counts what a database of this pombo's schema holds. */
export function readContents(sqlite: Pick<Database, "query">) {
  const one = (sql: string) => sqlite.query<{ n: number | null }, []>(sql).get()?.n ?? null;
  const count = (from: string) => one(`SELECT COUNT(*) AS n FROM ${from}`) ?? 0;
  const texts =
    "FROM sms_message m WHERE id IN (SELECT message_id FROM sms_segment WHERE state IN ('ready', 'unknown'))";
  const newest = [
    one("SELECT MAX(created_at) AS n FROM email_queue"),
    one(`SELECT MAX(created_at) AS n ${texts}`),
    one("SELECT MAX(created_at) AS n FROM event WHERE id IN (SELECT event_id FROM webhook_job)"),
  ].filter((each) => each !== null);
  return {
    emails: count("email"),
    texts: count("sms_message"),
    workspaces: count("workspace WHERE deleted_at IS NULL"),
    domains: count("domain"),
    waiting: {
      emails: count("email_queue"),
      texts: one(`SELECT COUNT(*) AS n ${texts}`) ?? 0,
      calls: count("webhook_job"),
    },
    /** When the newest of those was accepted, Unix ms; null: nothing waits. */
    newestWaitingAt: newest.length === 0 ? null : Math.max(...newest),
  };
}

export type DatabaseMarks = ReturnType<typeof readMarks>;

/** Read quickly from a database, also from one in use, to be compared with a restored copy of it. */
export function readMarks(file: string, { isInUse }: { isInUse: boolean }) {
  using sqlite = new Database(file, isInUse ? { readonly: true } : { readwrite: true });
  sqlite.run("PRAGMA busy_timeout = 5000");
  const one = (sql: string) => sqlite.query<{ n: string | number | null }, []>(sql).get()?.n ?? null;
  return {
    instance: String(one("SELECT value AS n FROM instance WHERE name = 'instance_id'") ?? ""),
    newestEmail: Number(one("SELECT MAX(id) AS n FROM email") ?? 0),
    newestText: Number(one("SELECT MAX(id) AS n FROM sms_message") ?? 0),
    workspaces: Number(one("SELECT COUNT(*) AS n FROM workspace WHERE deleted_at IS NULL")),
    domains: Number(one("SELECT COUNT(*) AS n FROM domain")),
  };
}
