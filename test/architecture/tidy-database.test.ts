// src/platform/db/schema/schema.ts is what queries and types are made from, migrations/*.sql is what the database is
// made from. Nothing but these tests holds their columns equal. Keys, constraints and indexes are only in migrations.

import { expect, test } from "bun:test";
import { getTableName, is, type Table } from "drizzle-orm";
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core";
import { MIGRATIONS } from "../../src/platform/db/schema/migrations.ts";
import { openDatabase } from "../../src/platform/db/open.ts";
import * as schema from "../../src/platform/db/schema/schema.ts";
import * as schemaOfAlerts from "../../src/platform/db/schema/alerts.ts";
import * as schemaOfCertificates from "../../src/platform/db/schema/certificates.ts";
import * as schemaOfPeople from "../../src/platform/db/schema/people.ts";
import * as schemaOfSms from "../../src/platform/db/schema/sms.ts";
import { sourcesOf } from "./tidy/sources.ts";

const { sqlite } = openDatabase(":memory:");
const modules = { ...schema, ...schemaOfAlerts, ...schemaOfCertificates, ...schemaOfPeople, ...schemaOfSms };
const tables = Object.values<unknown>(modules).filter((value): value is SQLiteTable => is(value, SQLiteTable));

interface ColumnRow {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
  pk: number;
}

const columnsOf = (table: string) =>
  sqlite.query<ColumnRow, [string]>("SELECT * FROM pragma_table_xinfo(?) ORDER BY cid").all(table);
const sqlOf = (name: string) =>
  sqlite.query<{ sql: string | null }, [string]>("SELECT sql FROM sqlite_master WHERE name = ?").get(name)?.sql ?? "";

const inWords = (sql: string) => sql.replace(/\s+/g, " ").trim();
interface Column {
  name: string;
  type: string;
  isNotNull: boolean;
  default: string | null;
}

/** One line a column, so that a failure shows the one that differs. */
function described(column: Column): string {
  const notNull = column.isNotNull ? "not null" : "null";
  return `${column.name} ${column.type} ${notNull}, default ${column.default ?? "none"}`;
}

/** A default as SQLite writes it: 0 for false, a text in quotes. */
function defaultInSql(value: unknown): string {
  return typeof value === "string" ? `'${value}'` : String(Number(value));
}

test("every migration is embedded, in order, with nothing missing between", () => {
  const files = sourcesOf("migrations", ".sql");
  expect(MIGRATIONS.map(({ name }) => name)).toEqual(files.map(({ path }) => path.replace("migrations/", "")));
  expect(MIGRATIONS.map(({ sql }) => sql)).toEqual(files.map(({ text }) => text));
  expect(files.map(({ path }) => Number(/^migrations\/(\d{4})_[a-z0-9_]+\.sql$/.exec(path)?.[1]))).toEqual(
    files.map((_, index) => index + 1),
  );
});

test("the schema has exactly the tables of the migrated database", () => {
  const made = sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  expect(tables.map(getTableName).toSorted()).toEqual(made.map(({ name }) => name).toSorted());
});

test("every table is STRICT", () => {
  const loose = sqlite
    .query<{ name: string }, []>(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
    )
    .all();
  expect(loose).toEqual([]);
});

for (const table of tables) {
  const name = getTableName(table as Table);
  const config = getTableConfig(table);

  test(`the columns of ${name} are those of the database`, () => {
    // An integer key is never null, though SQLite does not say so of it.
    const inSchema = config.columns.map((column) =>
      described({
        name: column.name,
        type: column.getSQLType().toUpperCase(),
        isNotNull: column.notNull || column.primary,
        default: column.default === undefined ? null : defaultInSql(column.default),
      }),
    );
    const inDatabase = columnsOf(name).map((column) =>
      described({
        name: column.name,
        type: column.type,
        isNotNull: column.notnull === 1 || column.pk > 0,
        default: column.dflt_value,
      }),
    );
    expect(inSchema).toEqual(inDatabase);
  });

  test(`the values that ${name} allows are those of the schema's types`, () => {
    const checks = [...inWords(sqlOf(name)).matchAll(/CHECK \((\w+) IN \(([^)]*)\)\)/g)].map(
      ([, column = "", list = ""]) => ({
        column,
        values: list.split(",").map((value) => value.trim().replace(/^'(.*)'$/, "$1")),
      }),
    );
    const typed = checks.map(({ column, values }) => {
      const found = config.columns.find((candidate) => candidate.name === column);
      const isBoolean = found?.dataType === "boolean";
      return { column, values: isBoolean && values.join() === "0,1" ? values : [...(found?.enumValues ?? [])] };
    });
    expect(typed).toEqual(checks);
  });
}
