import { Column, getTableName, is, Param, Placeholder, SQL } from "drizzle-orm";
import type { Statement } from "bun:sqlite";

// Prepared statements of drizzle without its work per call. A prepared query of drizzle looks up every
// parameter by its kind and builds every row by a reduction over its columns: as much time as SQLite
// itself takes for a row. Here both are worked out once; SQL, types and encodings stay drizzle's.

/** What a write did. */
export interface Written {
  /** Rows inserted, updated or deleted. */
  changes: number;
  lastInsertRowid: number | bigint;
}

/** The parts of drizzle's prepared query that are used here: `test/db/statement.test.ts` tells when they change. */
interface Internals {
  stmt: Statement;
  query: { sql: string; params: unknown[] };
  logger: { logQuery(sql: string, params: unknown[]): void };
  fields: { path: string[]; field: unknown }[] | undefined;
  joinsNotNullableMap: Record<string, boolean> | undefined;
}

type Values = Record<string, unknown>;
type Bind = (values: Values) => unknown;
type ReadRow = (row: unknown[]) => unknown;

interface Prepared {
  run: unknown;
  get: unknown;
  all: unknown;
}

type Fast<T extends Prepared> = Pick<T, "get" | "all"> & { run(values?: object): Written };

let atOnce = 0;

/** Until it is disposed of, statements are prepared where they are made: all of them fit the tables, or it throws. */
export function prepareAtOnce(): Disposable {
  atOnce += 1;
  return { [Symbol.dispose]: () => void (atOnce -= 1) };
}

/**
 * A query of drizzle, prepared at its first use: with the same calls and results, faster. `run` tells what it did and
 * takes an object that holds more. Nested objects only as joins make them.
 */
export function fast<T extends Prepared>(query: { prepare(): T }): Fast<T> {
  // All of them at a start would take a third of it.
  let made: Fast<T> | null = null;
  const statement = () => (made ??= fastOf(query.prepare()));
  if (atOnce > 0) statement();
  const lazy: Prepared = {
    run: (values?: object) => statement().run(values),
    get: (values?: object) => (statement().get as (values?: object) => unknown)(values),
    all: (values?: object) => (statement().all as (values?: object) => unknown)(values),
  };
  return lazy as Fast<T>;
}

function fastOf<T extends Prepared>(prepared: T): Fast<T> {
  const { stmt, query, logger, fields, joinsNotNullableMap } = prepared as unknown as Internals;
  const binds = query.params.map(bindOf);
  const read = fields === undefined ? (row: unknown[]) => row : rowReader(fields, joinsNotNullableMap);
  const bound = (values: object = {}) => {
    const given = binds.map((bind) => bind(values as Values)) as never[];
    logger.logQuery(query.sql, given);
    return given;
  };
  const statement: Prepared = {
    run: (values?: object): Written => stmt.run(...bound(values)),
    get(values?: object) {
      const row = stmt.values(...bound(values))[0];
      return row === undefined ? undefined : read(row);
    },
    all: (values?: object) => stmt.values(...bound(values)).map(read),
  };
  return statement as Fast<T>;
}

function bindOf(parameter: unknown): Bind {
  if (is(parameter, Placeholder)) return reader(parameter.name);
  if (is(parameter, Param) && is(parameter.value, Placeholder)) {
    const { encoder } = parameter;
    const read = reader(parameter.value.name);
    return (values) => encoder.mapToDriverValue(read(values));
  }
  return () => parameter;
}

function reader(name: string): Bind {
  return (values) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value was given for ${name}`);
    return value;
  };
}

function rowReader(fields: NonNullable<Internals["fields"]>, notNullable: Internals["joinsNotNullableMap"]): ReadRow {
  const groups = new Map<string, { key: string; index: number; decode: Decode }[]>();
  for (const [index, { path, field }] of fields.entries()) {
    const group = path.length === 1 ? "" : path[0];
    const key = path.at(-1);
    if (group === undefined || key === undefined || path.length > 2)
      throw new Error(`unknown shape: ${path.join(".")}`);
    groups.set(group, [...(groups.get(group) ?? []), { key, index, decode: decoderOf(field) }]);
  }
  const flat = groups.get("");
  if (flat !== undefined && groups.size === 1) return (row) => objectOf(flat, row);
  const nested = [...groups].map(([group, members]) => ({
    group,
    members,
    mayMiss: mayMiss(fields, group, notNullable),
  }));
  return (row) => {
    const whole: Values = {};
    for (const { group, members, mayMiss: canMiss } of nested) {
      // A left join that found nothing.
      const isMissing = canMiss && members.every(({ index }) => row[index] === null);
      if (group === "") Object.assign(whole, objectOf(members, row));
      else whole[group] = isMissing ? null : objectOf(members, row);
    }
    return whole;
  };
}

function mayMiss(
  fields: NonNullable<Internals["fields"]>,
  group: string,
  notNullable: Internals["joinsNotNullableMap"],
) {
  const field = fields.find(({ path }) => path.length === 2 && path[0] === group)?.field;
  if (!is(field, Column) || notNullable === undefined) return false;
  return notNullable[getTableName(field.table)] !== true;
}

function objectOf(members: { key: string; index: number; decode: Decode }[], row: unknown[]): Values {
  const made: Values = {};
  for (const { key, index, decode } of members) {
    const value = row[index];
    made[key] = decode === null || value === null ? value : decode(value);
  }
  return made;
}

type Decode = ((value: unknown) => unknown) | null;

/** Null where the value is what SQLite gives. */
function decoderOf(field: unknown): Decode {
  const decoder = is(field, Column)
    ? field
    : is(field, SQL)
      ? (field as unknown as { decoder: Decoder }).decoder
      : null;
  if (decoder === null)
    return (value) => (field as { sql: { decoder: Decoder } }).sql.decoder.mapFromDriverValue(value);
  if (decoder.mapFromDriverValue === Column.prototype.mapFromDriverValue) return null;
  return (value) => decoder.mapFromDriverValue(value);
}

interface Decoder {
  mapFromDriverValue(value: unknown): unknown;
}
