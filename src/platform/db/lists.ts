// Keyset pages of tables that are listed newest first.

import { desc, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

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
