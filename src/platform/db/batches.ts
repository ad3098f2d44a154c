// Statements that many stores have: batches, keyset pages, the insertion of a row. Work on more rows than one transaction or
// one turn of the event loop should touch goes in batches.

import { and, asc, desc, gt, gte, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Db } from "./open.ts";
import { prepare, toPlaceholders } from "./statement.ts";

/** Rows that one transaction of a clean-up removes. */
export const PURGE_ROWS = 1_000;

type Orm = Db["orm"];
type Numbered = SQLiteTable & { id: SQLiteColumn };
type Dated = SQLiteTable & { createdAt: SQLiteColumn };

/** The id of the last of the `rows` rows after `id`, in the order of ids; null: there are fewer. */
export type FindBatchEnd = (id: number, rows: number) => number | null;

/** Prepares the walk over a table by its ids. */
export function prepareBatchEnd(orm: Orm, table: Numbered): FindBatchEnd {
  const p = sql.placeholder;
  const selectEnd = prepare(
    orm
      .select({ id: sql<number>`${table.id}` })
      .from(table)
      .where(gt(table.id, p("id")))
      .orderBy(asc(table.id))
      .limit(1)
      .offset(p("ahead")),
  );
  return (id, rows) => selectEnd.get({ id, ahead: rows - 1 })?.id ?? null;
}

/** The last id of a table; 0: it is empty. */
export function lastId(orm: Orm, table: Numbered): number {
  return (
    orm
      .select({ id: sql<number>`COALESCE(MAX(${table.id}), 0)` })
      .from(table)
      .get()?.id ?? 0
  );
}

/** The ids of the rows that match, or of up to `limit` of them. */
export function listIds(orm: Orm, table: Numbered, matches?: SQL, limit = -1): number[] {
  const rows = orm
    .select({ id: sql<number>`${table.id}` })
    .from(table)
    .where(matches)
    .limit(limit)
    .all();
  return rows.map(({ id }) => id);
}

/** Removes up to `limit` of the rows that match; true when there may be more. */
export function removeBatch(orm: Orm, table: Numbered, matches: SQL | undefined, limit: number): boolean {
  const batch = orm.select({ id: table.id }).from(table).where(matches).limit(limit);
  return orm.delete(table).where(inArray(table.id, batch)).returning({ id: table.id }).all().length === limit;
}

/** Removes the oldest rows that are older than `notBefore`; true when there may be more. */
export function removeOldest(orm: Orm, table: Dated, notBefore: number): boolean {
  const isOld = lt(table.createdAt, notBefore);
  const edge = orm
    .select({ at: sql<number>`${table.createdAt}` })
    .from(table)
    .where(isOld)
    .orderBy(asc(table.createdAt))
    .limit(1)
    .offset(PURGE_ROWS)
    .get();
  // With the edge itself: a thousand rows of one millisecond must not stand in the way of the rest.
  orm
    .delete(table)
    .where(edge === undefined ? isOld : lte(table.createdAt, edge.at))
    .run();
  return edge !== undefined;
}

interface Listed {
  id: SQLiteColumn;
  createdAt: SQLiteColumn;
}

interface Place {
  createdAt: number;
  id: number;
}

/** Sorts after every character that an id may have. */
const PAST_HEX = "g";

/** Holds for ids in text form that begin so, in lower case: a range, which an index of them serves. */
export function hasIdPrefix(column: SQLiteColumn, prefix: string): SQL | undefined {
  return and(gte(column, prefix), lt(column, prefix + PAST_HEX));
}

/** Newer than everything: before the first page. */
export const NEWEST: Place = { createdAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/** Rows older than the place where the previous page ended; null: all. One statement for both: one index for both. */
export function isOlder(table: Listed, before: Place | null): SQL {
  const { createdAt, id } = before ?? NEWEST;
  return sql`(${table.createdAt}, ${table.id}) < (${createdAt}, ${id})`;
}

/** Of a range of time, each end of which may be null: none. */
export function isWithin(column: SQLiteColumn, { since, until }: { since: number | null; until: number | null }) {
  return and(since === null ? undefined : gte(column, since), until === null ? undefined : lt(column, until));
}

export function newestFirst(table: Listed): SQL[] {
  return [desc(table.createdAt), desc(table.id)];
}

/** Prepares the insertion of rows with every column but the id, which SQLite gives out; answers with it. */
export function prepareInsert<T extends SQLiteTable & { id: SQLiteColumn }>(orm: Orm, table: T) {
  const { id: _, ...values }: Record<string, unknown> = toPlaceholders(table);
  const insert = prepare(orm.insert(table).values(values as T["$inferInsert"]));
  return (row: Omit<T["$inferSelect"], "id">): number => Number(insert.run(row).lastInsertRowid);
}
