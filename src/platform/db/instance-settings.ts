// The table `instance`: what an installation keeps about itself, one value a name.

import { Database } from "bun:sqlite";
import { eq, sql } from "drizzle-orm";
import { existsSync } from "node:fs";
import type { Db } from "./open.ts";
import { instance } from "./schema/schema.ts";
import { prepare } from "./statement.ts";

export type SettingName =
  | "instance_id"
  | "key_check"
  | "operator_key_hash"
  | "last_write"
  | "update_probation"
  | "marker"
  | "last_at"
  | "delivery_paused"
  | "growth"
  /** JSON: how the renewal of the certificate goes, see src/modules/certificates/store.ts. */
  | "tls_renewal"
  /** Unix ms: the database is one of an earlier time, and people and keys are to be reviewed; "": they are not. */
  | "access_review"
  /** Unix ms: somebody had the recovery key at hand. */
  | "recovery_key_checked";

/** Written also by an installation that accepts and sends nothing: see update-probation.ts. */
const HOUSEKEEPING: readonly SettingName[] = ["last_write", "marker", "last_at", "growth", "tls_renewal"];
const BUSY_TIMEOUT_MS = 5_000;

export type InstanceSettings = ReturnType<typeof openInstanceSettings>;

export function openInstanceSettings({ orm }: Pick<Db, "orm">) {
  const select = prepare(
    orm
      .select({ value: instance.value })
      .from(instance)
      .where(eq(instance.name, sql.placeholder("name"))),
  );
  let housekeepingWrites = 0;
  return {
    get: (name: SettingName): string | null => select.get({ name })?.value ?? null,
    /** Inside a transaction. */
    set(name: SettingName, value: string): void {
      if (HOUSEKEEPING.includes(name)) housekeepingWrites += 1;
      orm.insert(instance).values({ name, value }).onConflictDoUpdate({ target: instance.name, set: { value } }).run();
    },
    /** Rows written so far that say nothing about the installation's work. */
    get housekeepingWrites(): number {
      return housekeepingWrites;
    },
  };
}

/** A setting in a database of any version, which need not be open; null: it has none, or there is no database. */
export function readSetting(file: string, name: SettingName): string | null {
  if (!existsSync(file)) return null;
  using sqlite = new Database(file, { readwrite: true });
  sqlite.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  // The table has been there since the first version, and stays as it is for this.
  return (
    sqlite.query<{ value: string }, [string]>("SELECT value FROM instance WHERE name = ?").get(name)?.value ?? null
  );
}
