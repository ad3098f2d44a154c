import { expect, test } from "bun:test";
import { SteadyDatabase, steady } from "../../src/platform/db/steady-sql.ts";
import { openDatabase } from "../../src/platform/db/open.ts";

test("what a parameter is compared with, and what limits rows, is not looked at when a statement is compiled", () => {
  expect(steady("select * from t where a = ? and b <= ? limit ? offset ?")).toBe(
    "select * from t where a = +? and b <= +? limit +? offset +?",
  );
  expect(steady("insert into t values (?, ?)")).toBe("insert into t values (?, ?)");
});

test("SQLite would plan for the value that is bound, and so compile anew for each: a steady database does not", () => {
  using db = new SteadyDatabase(":memory:");
  db.run("CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT, at INTEGER)");
  db.run("CREATE INDEX job_ready ON job (at) WHERE state = 'ready'");
  const question = "EXPLAIN QUERY PLAN SELECT id FROM job WHERE state = ? ORDER BY at";
  const planOf = (statement: ReturnType<typeof db.query>) => JSON.stringify(statement.all("ready"));
  expect(planOf(db.query(question))).toContain("job_ready");
  expect(planOf(db.prepare(question))).not.toContain("job_ready");
  expect(planOf(db.prepare(question.replace("?", "'ready'")))).toContain("job_ready");
});

test("values of every kind come through as they are", () => {
  const db = openDatabase(":memory:");
  db.sqlite.run("CREATE TABLE kind (t TEXT, i INTEGER, b BLOB) STRICT");
  db.sqlite.run("INSERT INTO kind VALUES ('12', 12, X'0102')");
  const count = (where: string, value: string | number | Uint8Array) =>
    db.sqlite.prepare<{ n: number }, [typeof value]>(`SELECT COUNT(*) AS n FROM kind WHERE ${where}`).get(value)?.n;
  expect(count("t = ?", "12")).toBe(1);
  expect(count("t = ?", 12)).toBe(1);
  expect(count("i = ?", "12")).toBe(1);
  expect(count("i > ?", 11.5)).toBe(1);
  expect(count("b = ?", new Uint8Array([1, 2]))).toBe(1);
  db.close();
});
