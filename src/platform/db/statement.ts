// Statements of the stores: drizzle's queries, each prepared at its first use.

import type { Changes } from "bun:sqlite";

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
