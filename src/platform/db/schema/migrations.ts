import { createHash } from "node:crypto";
import first from "../../../../migrations/0001_first.sql" with { type: "text" };

/** Every migration in order; the database's `user_version` is how many of them it has. Forward only. */
export const MIGRATIONS: readonly { name: string; sql: string }[] = [{ name: "0001_first.sql", sql: first }];

/**
 * A fingerprint of the text of the first `count` migrations, positive and of 31 bits: it stands in the database's
 * `application_id`. Before a release migrations are edited in place, and a database that an earlier build made
 * has the same `user_version` and other tables.
 */
export function computeFingerprint(count: number): number {
  const hash = createHash("sha256");
  for (const { name, sql } of MIGRATIONS.slice(0, count)) hash.update(`${name}\0${sql}\0`);
  return hash.digest().readUInt32BE(0) >>> 1;
}
