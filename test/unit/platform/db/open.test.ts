import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { disableCheckpoints, enableCheckpoints, getWalBytes } from "../../../../src/platform/db/wal.ts";
import { MIGRATIONS } from "../../../../src/platform/db/schema/migrations.ts";
import { closeDatabase, openDatabase } from "../../../../src/platform/db/open.ts";
import { StartError } from "../../../../src/platform/errors.ts";
import { temporaryFolder } from "../../../support/db/temporary.ts";

const pragma = (sqlite: Database, name: string): unknown =>
  Object.values(sqlite.query<Record<string, unknown>, []>(`PRAGMA ${name}`).get() ?? {})[0];

const tables = (sqlite: Database): string[] =>
  sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map((row) => row.name);

test("the pragmas that make a commit durable are in force", () => {
  using folder = temporaryFolder();
  const db = openDatabase(join(folder.path, "a.db"));
  const read = Object.fromEntries(
    [
      "journal_mode",
      "synchronous",
      "busy_timeout",
      "foreign_keys",
      "auto_vacuum",
      "temp_store",
      "trusted_schema",
      "wal_autocheckpoint",
      "journal_size_limit",
    ].map((name) => [name, pragma(db.sqlite, name)]),
  );
  expect(read).toEqual({
    journal_mode: "wal",
    synchronous: 2, // FULL: NORMAL would not sync a commit in WAL
    busy_timeout: 5_000,
    foreign_keys: 1,
    auto_vacuum: 2, // INCREMENTAL
    temp_store: 2, // MEMORY
    trusted_schema: 0,
    wal_autocheckpoint: 4_000,
    journal_size_limit: 67_108_864,
  });
  db.close();
});

test("foreign keys are enforced", () => {
  const db = openDatabase(":memory:");
  expect(() => db.sqlite.run("INSERT INTO dkim_key VALUES (404, 's', 'rsa-sha256', '', x'')")).toThrow(/FOREIGN KEY/);
  db.close();
});

test("the database file and what SQLite puts beside it are the owner's alone, whatever the umask", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  const umask = process.umask(0);
  try {
    const db = openDatabase(file);
    db.sqlite.run("INSERT INTO instance VALUES ('a', 'b')");
    for (const name of [file, `${file}-wal`, `${file}-shm`]) {
      expect([name, (statSync(name).mode & 0o777).toString(8)]).toEqual([name, "600"]);
    }
    db.close();
  } finally {
    process.umask(umask);
  }
});

test("a file that others could read is closed to them", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  openDatabase(file).close();
  chmodSync(file, 0o644);
  const db = openDatabase(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  db.close();
});

test("migrations are applied once: what a later start finds is kept", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  const first = openDatabase(file);
  expect(pragma(first.sqlite, "user_version")).toBe(MIGRATIONS.length);
  first.sqlite.run("INSERT INTO instance VALUES ('kept', 'yes')");
  const made = tables(first.sqlite);
  first.close();
  const second = openDatabase(file);
  expect(second.sqlite.query("SELECT value FROM instance WHERE name = 'kept'").get()).toEqual({ value: "yes" });
  expect(tables(second.sqlite)).toEqual(made);
  expect(pragma(second.sqlite, "integrity_check")).toBe("ok");
  second.close();
});

test("the database of a newer pombo is refused with the way out, and left as it was", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  openDatabase(file).close();
  const sqlite = new Database(file);
  sqlite.run(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  sqlite.close();
  let thrown: unknown;
  try {
    openDatabase(file);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(StartError);
  expect(String(thrown)).toContain("newer pombo");
  expect(String(thrown)).toContain(file);
  const after = new Database(file);
  expect(pragma(after, "user_version")).toBe(MIGRATIONS.length + 1);
  after.close();
});

test("the database of a build that was never released is refused with the way out, and left as it was", () => {
  using folder = temporaryFolder();
  // Of the same number, by another text: one that has no fingerprint yet, and one that has its own.
  for (const fingerprint of [0, 12_345]) {
    const file = join(folder.path, `${fingerprint}.db`);
    const sqlite = new Database(file, { create: true });
    sqlite.run("CREATE TABLE instance (of_another_shape TEXT)");
    sqlite.run(`PRAGMA user_version = ${MIGRATIONS.length}`);
    sqlite.run(`PRAGMA application_id = ${fingerprint}`);
    sqlite.close();
    let thrown: unknown;
    try {
      openDatabase(file);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(StartError);
    expect(String(thrown)).toContain("unreleased build");
    expect(String(thrown)).toContain("--data");
    expect(String(thrown)).toContain(file);
    const after = new Database(file);
    expect([tables(after), pragma(after, "application_id")]).toEqual([["instance"], fingerprint]);
    after.close();
  }
});

test("a migration that fails leaves the database as it was, and is tried again at the next start", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  // The first migration makes this table last of all.
  const sqlite = new Database(file, { create: true });
  sqlite.run("CREATE VIEW suppression AS SELECT 1 AS in_the_way");
  sqlite.close();
  expect(() => openDatabase(file)).toThrow(/suppression/);
  const left = new Database(file);
  expect(tables(left)).toEqual([]);
  expect(pragma(left, "user_version")).toBe(0);
  left.run("DROP VIEW suppression");
  left.close();
  const db = openDatabase(file);
  expect(tables(db.sqlite).length).toBeGreaterThan(5);
  expect(pragma(db.sqlite, "user_version")).toBe(MIGRATIONS.length);
  db.close();
});

test("a file that is not a database is refused and not written over", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  const content = "this is a letter, not a database\n".repeat(100);
  writeFileSync(file, content);
  expect(() => openDatabase(file)).toThrow(/is not a database/);
  expect(readFileSync(file, "utf8")).toBe(content);
});

test("what was committed before a process vanished is there when the file is opened again", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  // Not closed: what is in the WAL has to be found there.
  const first = openDatabase(file);
  first.sqlite.run("INSERT INTO instance VALUES ('row', 'in the WAL')");
  expect(existsSync(`${file}-wal`)).toBe(true);
  const second = openDatabase(file);
  expect(second.sqlite.query("SELECT value FROM instance").all()).toEqual([{ value: "in the WAL" }]);
  second.close();
  first.close();
});

test("an existing database is opened without a write, and its side files outlive the last connection", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "a.db");
  closeDatabase(openDatabase(file));
  Bun.gc(true);
  expect([getWalBytes(file), existsSync(`${file}-wal`), existsSync(`${file}-shm`)]).toEqual([0, true, true]);
  const db = openDatabase(file);
  expect(getWalBytes(file)).toBe(0);
  expect(pragma(db.sqlite, "auto_vacuum")).toBe(2);
  closeDatabase(db);
});

test("of a replicated database nothing is brought in here, and its log outlives the last connection", () => {
  using folder = temporaryFolder();
  for (const isReplicated of [true, false]) {
    const file = join(folder.path, `${isReplicated}.db`);
    const db = openDatabase(file, { isReplicated });
    expect(pragma(db.sqlite, "wal_autocheckpoint")).toBe(isReplicated ? 0 : 4_000);
    expect(pragma(db.sqlite, "journal_size_limit")).toBe(isReplicated ? -1 : 64 * 1024 * 1024);
    disableCheckpoints(db);
    expect(pragma(db.sqlite, "wal_autocheckpoint")).toBe(0);
    const bytes = getWalBytes(file);
    expect(bytes).toBeGreaterThan(0);
    closeDatabase(db, { isReplicated });
    Bun.gc(true);
    expect(getWalBytes(file)).toBe(isReplicated ? bytes : 0);
  }
});

test("who takes the log over brings in at once what is there, and goes on with it", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "taken.db");
  const db = openDatabase(file, { isReplicated: true });
  const before = statSync(file).size;
  enableCheckpoints(db);
  expect(statSync(file).size).toBeGreaterThan(before);
  expect(pragma(db.sqlite, "wal_autocheckpoint")).toBe(4_000);
  closeDatabase(db, { isReplicated: true });
});
