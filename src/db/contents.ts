import { Database } from "bun:sqlite";
import { fingerprintOf, MIGRATIONS } from "./migrations.ts";

// What a database holds that came from elsewhere, read without making this pombo's schema of it.

export interface Contents {
  emails: number;
  texts: number;
  workspaces: number;
  domains: number;
  /** Emails, messages of texts and webhook calls that wait. */
  waiting: { emails: number; texts: number; calls: number };
  /** When the newest of those was accepted, Unix ms; null: nothing waits. */
  newestWaitingAt: number | null;
}

/** How the schema of a file stands to that of this executable. `newer`, `foreign`: it cannot be used. */
export function schemaOf(file: string): { kind: "usable" | "newer" | "foreign" | "none"; version: number } {
  using sqlite = new Database(file, { readwrite: true });
  const number = (pragma: string) => sqlite.query<Record<string, number>, []>(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0;
  const version = number("user_version");
  if (version === 0) return { kind: "none", version };
  if (version > MIGRATIONS.length) return { kind: "newer", version };
  return { kind: number("application_id") === fingerprintOf(version) ? "usable" : "foreign", version };
}

/** Counts what a database of this pombo's schema holds. */
export function contentsOf(sqlite: Pick<Database, "query">): Contents {
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
    newestWaitingAt: newest.length === 0 ? null : Math.max(...newest),
  };
}
