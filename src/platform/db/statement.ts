// Statements of the stores: drizzle's queries, each prepared at its first use.

import type { Changes } from "bun:sqlite";
import { and, eq, getTableColumns, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";

interface Prepared {
  run: unknown;
  get: unknown;
  all: unknown;
}

/** `run` takes an object that holds more than the placeholders. */
type Statement<T extends Prepared> = Pick<T, "get" | "all"> & { run(values?: object): Changes };

let atOnce = 0;

/** Until it is disposed of, statements are prepared where they are made: all of them fit the tables, or it throws. */
export function prepareAtOnce(): Disposable {
  atOnce += 1;
  return { [Symbol.dispose]: () => void (atOnce -= 1) };
}

/** All statements prepared at a start would take a third of it. */
export function prepare<T extends Prepared>(query: { prepare(): T }): Statement<T> {
  let prepared: Statement<T> | null = null;
  const statement = () => (prepared ??= query.prepare() as unknown as Statement<T>);
  if (atOnce > 0) statement();
  const lazy: Prepared = {
    run: (values?: object) => statement().run(values),
    get: (values?: object) => (statement().get as (values?: object) => unknown)(values),
    all: (values?: object) => (statement().all as (values?: object) => unknown)(values),
  };
  return lazy as Statement<T>;
}

type ColumnName<T extends SQLiteTable> = keyof T["_"]["columns"] & string;

/** Values for an insert: a placeholder for each of these columns, or for all of the table, by its name. */
export function toPlaceholders<T extends SQLiteTable, Name extends ColumnName<T> = ColumnName<T>>(
  table: T,
  ...names: Name[]
): Record<Name, Placeholder<Name>> {
  const all = names.length > 0 ? names : Object.keys(getTableColumns(table));
  return Object.fromEntries(all.map((name) => [name, sql.placeholder(name)])) as Record<Name, Placeholder<Name>>;
}

/** Holds for the rows in which each of these columns has the value of the placeholder of its name. */
export function matches<T extends SQLiteTable>(table: T, ...names: ColumnName<T>[]): SQL | undefined {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table);
  return and(...names.map((name) => eq(sql`${columns[name]}`, sql.placeholder(name))));
}

/** The members of an update, each a placeholder of its name: bound as given, without the column's own mapping. */
export function bindMembers<Name extends string>(...names: Name[]): Record<Name, SQL> {
  return Object.fromEntries(names.map((name) => [name, sql`${sql.placeholder(name)}`])) as Record<Name, SQL>;
}
