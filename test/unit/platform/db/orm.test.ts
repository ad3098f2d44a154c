import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { eq, sql } from "drizzle-orm";
import { sqliteTable, text, integer, blob } from "drizzle-orm/sqlite-core";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { openOrm } from "../../../../src/platform/db/orm.ts";

const p = sql.placeholder;
const jobs = sqliteTable("job", { id: integer().primaryKey(), state: text().notNull(), at: integer() });
const kinds = sqliteTable("kind", { t: text(), i: integer(), b: blob({ mode: "buffer" }) });

test("each parameter is an expression, which SQLite does not look at when it plans", () => {
  using sqlite = new Database(":memory:");
  sqlite.run("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT NOT NULL, at INTEGER) STRICT");
  sqlite.run("CREATE INDEX job_ready ON job (at) WHERE state = 'ready'");
  const { sql: written } = openOrm(sqlite)
    .select({ id: jobs.id })
    .from(jobs)
    .where(eq(jobs.state, p("state")))
    .orderBy(jobs.at)
    .limit(p("limit"))
    .toSQL();
  expect(written).toBe('select "id" from "job" where "job"."state" = +? order by "job"."at" limit +?');
  const findPlan = (query: string, ...given: (string | number)[]) =>
    JSON.stringify(sqlite.query(`EXPLAIN QUERY PLAN ${query}`).all(...given));
  // SQLite would plan for the value that is bound, and so compile anew for each.
  expect(findPlan(written.replaceAll("+?", "?"), "ready", 1)).toContain("job_ready");
  expect(findPlan(written, "ready", 1)).not.toContain("job_ready");
  expect(findPlan(written.replace("+?", "'ready'"), 1)).toContain("job_ready");
});

test("values of every kind come through as they are", () => {
  const db = openDatabase(":memory:");
  db.sqlite.run("CREATE TABLE kind (t TEXT, i INTEGER, b BLOB) STRICT");
  const insert = db.orm
    .insert(kinds)
    .values({ t: p("t"), i: p("i"), b: p("b") })
    .prepare();
  insert.run({ t: "12", i: 12, b: Buffer.from([1, 2]) });
  const count = (where: ReturnType<typeof sql>) =>
    db.orm
      .select({ n: sql<number>`COUNT(*)` })
      .from(kinds)
      .where(where)
      .get()?.n;
  expect(count(sql`${kinds.t} = ${"12"}`)).toBe(1);
  expect(count(sql`${kinds.t} = ${12}`)).toBe(1);
  expect(count(sql`${kinds.i} = ${"12"}`)).toBe(1);
  expect(count(sql`${kinds.i} > ${11.5}`)).toBe(1);
  expect(count(sql`${kinds.b} = ${new Uint8Array([1, 2])}`)).toBe(1);
  expect(db.orm.select().from(kinds).all()).toEqual([{ t: "12", i: 12, b: Buffer.from([1, 2]) }]);
  db.close();
});

test("a joined table of which nothing is selected that is never null is refused: nobody could tell a row of nulls from none", () => {
  const db = openDatabase(":memory:");
  const query = db.orm.select({ job: { at: jobs.at } }).from(jobs);
  db.sqlite.run("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT NOT NULL, at INTEGER) STRICT");
  expect(() => query.prepare()).toThrow("job needs a column that is never null");
  db.close();
});
