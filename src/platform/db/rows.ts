// Parts of statements that many stores share: keyset pages, newest first, and the insertion of a row.

import { desc, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Db } from "./open.ts";
import { fast } from "./statement.ts";

interface Listed {
  id: SQLiteColumn;
  createdAt: SQLiteColumn;
}

interface Place {
  createdAt: number;
  id: number;
}

/** Newer than everything: before the first page. */
const NEWEST: Place = { createdAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

/** Rows older than the place where the previous page ended; null: all. One statement for both: one index for both. */
export function isOlder(table: Listed, before: Place | null): SQL {
  const { createdAt, id } = before ?? NEWEST;
  return sql`(${table.createdAt}, ${table.id}) < (${createdAt}, ${id})`;
}

export function newestFirst(table: Listed): SQL[] {
  return [desc(table.createdAt), desc(table.id)];
}

/** Prepares the insertion of rows with every column but the id, which SQLite gives out; answers with it. */
export function prepareInsert<T extends SQLiteTable & { id: SQLiteColumn }>(orm: Db["orm"], table: T) {
  const names = Object.keys(getTableColumns(table)).filter((name) => name !== "id");
  const values = Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]));
  const insert = fast(orm.insert(table).values(values as T["$inferInsert"]));
  return (row: Omit<T["$inferSelect"], "id">): number => Number(insert.run(row).lastInsertRowid);
}
