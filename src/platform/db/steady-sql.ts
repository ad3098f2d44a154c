import { Database, type SQLQueryBindings, type Statement } from "bun:sqlite";

/**
 * A connection whose statements are compiled once. SQLite looks at the values bound to some parameters when it
 * plans (`column = ?` in queries that join or sort, `LIMIT ?`), and compiles such a statement anew at the first
 * step after each binding: five times the work of the query itself. Written as `+?`, which is the same value,
 * a parameter is not looked at.
 */
export class SteadyDatabase extends Database {
  override prepare<Row, Given extends SQLQueryBindings | SQLQueryBindings[]>(
    sql: string,
    params?: Given,
    // oxlint-disable-next-line no-explicit-any
  ): Statement<Row, Given extends any[] ? Given : [Given]> {
    return super.prepare(steady(sql), params);
  }
}

/** Only where a value is compared or counts rows: drizzle writes all of SQL with spaces around. */
export function steady(sql: string): string {
  return sql.replaceAll(COMPARED, "$1 +?");
}

const COMPARED = /([=<>]|\b(?:limit|offset)) \?/gi;
