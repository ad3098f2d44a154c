// drizzle over bun:sqlite, with prepared queries that bind values and read rows by a plan made once.

import type { Database, Statement } from "bun:sqlite";
import { Column, getTableName, is, Param, Placeholder, type Query } from "drizzle-orm";
import { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import { type PreparedQuery, SQLiteBunSession } from "drizzle-orm/bun-sqlite/session";
import {
  type PreparedQueryConfig,
  SQLitePreparedQuery,
  type SQLiteExecuteMethod,
  SQLiteSyncDialect,
} from "drizzle-orm/sqlite-core";
import type { SelectedFieldsOrdered } from "drizzle-orm/sqlite-core/query-builders/select.types";

// Why not drizzle's own driver, with figures: docs/adr/030-prepared-queries.md. SQL, types and encodings are drizzle's.

export type Orm = BunSQLiteDatabase;

export function openOrm(sqlite: Database): Orm {
  const dialect = new StableDialect();
  return new BunSQLiteDatabase("sync", dialect, new Session(sqlite, dialect), undefined);
}

/**
 * Writes each parameter as `+?`, which is the same value. SQLite plans for the value that is bound where it compares
 * `column = ?` in queries that join or sort, and in `LIMIT ?`, and compiles the statement anew at the first step after
 * each binding: five times the work of the query itself. A parameter in an expression is not looked at.
 */
class StableDialect extends SQLiteSyncDialect {
  override escapeParam(): string {
    return "+?";
  }
}

class Session extends SQLiteBunSession<Record<string, never>, Record<string, never>> {
  readonly #sqlite: Database;

  constructor(sqlite: Database, dialect: SQLiteSyncDialect) {
    super(sqlite, dialect, undefined);
    this.#sqlite = sqlite;
  }

  override prepareQuery<T extends Omit<PreparedQueryConfig, "run">>(
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    method: SQLiteExecuteMethod,
  ): PreparedQuery<T> {
    return new PlannedQuery(this.#sqlite.prepare(query.sql), query, fields, method) as unknown as PreparedQuery<T>;
  }
}

type Values = Record<string, unknown>;
type Row = unknown[];

class PlannedQuery extends SQLitePreparedQuery<PreparedQueryConfig & { type: "sync" }> {
  readonly #statement: Statement<unknown, never[]>;
  readonly #binds: ((values: Values) => unknown)[];
  readonly #read: (row: Row) => unknown;

  constructor(
    statement: Statement<unknown, never[]>,
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    method: SQLiteExecuteMethod,
  ) {
    super("sync", method, query);
    this.#statement = statement;
    this.#binds = query.params.map(createBind);
    this.#read = fields === undefined ? (row) => row : createReader(fields);
  }

  run(values: Values = {}) {
    return this.#statement.run(...this.#bind(values));
  }

  get(values: Values = {}): unknown {
    const row = this.values(values)[0];
    return row === undefined ? undefined : this.#read(row);
  }

  all(values: Values = {}): unknown[] {
    return this.values(values).map(this.#read);
  }

  values(values: Values = {}): Row[] {
    return this.#statement.values(...this.#bind(values));
  }

  #bind(values: Values): never[] {
    return this.#binds.map((bind) => bind(values)) as never[];
  }
}

function createBind(parameter: unknown): (values: Values) => unknown {
  if (is(parameter, Placeholder)) return (values) => getValue(values, parameter.name);
  if (is(parameter, Param) && is(parameter.value, Placeholder)) {
    const { encoder, value } = parameter;
    return (values) => encoder.mapToDriverValue(getValue(values, value.name));
  }
  return () => parameter;
}

function getValue(values: Values, name: string): unknown {
  const value = values[name];
  if (value === undefined) throw new Error(`no value was given for ${name}`);
  return value;
}

interface Member {
  key: string;
  index: number;
  /** Null: the value is what SQLite gives. */
  decode: ((value: unknown) => unknown) | null;
}

/** Rows are objects, and may hold one object a joined table. */
function createReader(fields: SelectedFieldsOrdered): (row: Row) => unknown {
  const flat: Member[] = [];
  const nested = new Map<string, Member[]>();
  for (const [index, { path, field }] of fields.entries()) {
    const [name = "", key, ...deeper] = path;
    if (deeper.length > 0) throw new Error(`a row has no place for ${path.join(".")}`);
    const member = { key: key ?? name, index, decode: createDecode(field) };
    if (key === undefined) flat.push(member);
    else nested.set(name, [...(nested.get(name) ?? []), member]);
  }
  if (nested.size === 0) return (row) => readObject(flat, row);
  const objects = [...nested].map(([name, members]) => ({
    name,
    members,
    evidence: findEvidence(name, members, fields),
  }));
  return (row) => {
    const whole = readObject(flat, row);
    for (const { name, members, evidence } of objects)
      whole[name] = evidence !== null && row[evidence] === null ? null : readObject(members, row);
    return whole;
  };
}

/** The index of a column that is null only where a left join found no row; null: the object is of no single table. */
function findEvidence(name: string, members: Member[], fields: SelectedFieldsOrdered): number | null {
  const columns = members.flatMap(({ index }) => {
    const field = fields[index]?.field;
    return is(field, Column) ? [{ index, field }] : [];
  });
  if (new Set(columns.map(({ field }) => getTableName(field.table))).size !== 1) return null;
  const found = columns.find(({ field }) => field.notNull);
  if (found === undefined) throw new Error(`${name} needs a column that is never null`);
  return found.index;
}

function createDecode(field: unknown): Member["decode"] {
  if (!is(field, Column) || field.mapFromDriverValue === Column.prototype.mapFromDriverValue) return null;
  return (value) => field.mapFromDriverValue(value);
}

function readObject(members: Member[], row: Row): Values {
  const made: Values = {};
  for (const { key, index, decode } of members) {
    const value = row[index];
    made[key] = decode === null || value === null ? value : decode(value);
  }
  return made;
}
