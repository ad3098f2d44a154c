// Statements of the stores: drizzle's queries, each prepared at its first use.

import type { Changes } from "bun:sqlite";
import { type Placeholder, type SQL, sql } from "drizzle-orm";

interface Prepared {
  run: unknown;
  get: unknown;
  all: unknown;
}

/** `run` takes an object that holds more than the placeholders. */
type Fast<T extends Prepared> = Pick<T, "get" | "all"> & { run(values?: object): Changes };

/** Placeholders by their own names, for the values of an insert. */
export function bindValues<Name extends string>(...names: Name[]): { [Each in Name]: Placeholder<Each> } {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as {
    [Each in Name]: Placeholder<Each>;
  };
}

/** The same for the members of an update; they are bound as given, without the column's own mapping. */
export function bindMembers<Name extends string>(...names: Name[]): Record<Name, SQL> {
  return Object.fromEntries(names.map((name) => [name, sql`${sql.placeholder(name)}`])) as Record<Name, SQL>;
}

let atOnce = 0;

/** Until it is disposed of, statements are prepared where they are made: all of them fit the tables, or it throws. */
export function prepareAtOnce(): Disposable {
  atOnce += 1;
  return { [Symbol.dispose]: () => void (atOnce -= 1) };
}

/** All statements prepared at a start would take a third of it. */
export function fast<T extends Prepared>(query: { prepare(): T }): Fast<T> {
  let prepared: Fast<T> | null = null;
  const statement = () => (prepared ??= query.prepare() as unknown as Fast<T>);
  if (atOnce > 0) statement();
  const lazy: Prepared = {
    run: (values?: object) => statement().run(values),
    get: (values?: object) => (statement().get as (values?: object) => unknown)(values),
    all: (values?: object) => (statement().all as (values?: object) => unknown)(values),
  };
  return lazy as Fast<T>;
}
