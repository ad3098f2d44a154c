import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { closeDatabase, openDatabase } from "../../../../src/platform/db/open.ts";
import { rewriteWal } from "../../../../src/platform/db/wal.ts";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import { temporaryDatabase, temporaryFolder } from "../../../support/db/temporary.ts";

const MIB = 1024 * 1024;

test("the log is written anew as it was, also where it is longer than what is read at once, and nothing in it is lost", async () => {
  using of = temporaryDatabase();
  for (const name of ["a", "b"])
    await of.committer.commit(() =>
      of.db.orm
        .insert(instance)
        .values({ name, value: name.repeat(1.2 * MIB) })
        .run(),
    );
  const before = readFileSync(`${of.file}-wal`);
  expect(before.length).toBeGreaterThan(2 * MIB);
  rewriteWal(of.db, of.file);
  expect(readFileSync(`${of.file}-wal`).equals(before)).toBe(true);
  expect(of.db.sqlite.inTransaction).toBe(false);
  await of.committer.commit(() => of.db.orm.insert(instance).values({ name: "c", value: "" }).run());
  expect(of.db.sqlite.query("SELECT count(*) AS n FROM instance").get()).toEqual({ n: 3 });
});

test("a log that is not there is trouble, and leaves no transaction open", () => {
  using folder = temporaryFolder();
  using of = temporaryDatabase();
  expect(() => rewriteWal(of.db, `${folder.path}/elsewhere.db`)).toThrow("ENOENT");
  expect(of.db.sqlite.inTransaction).toBe(false);
});

test("a log of no bytes is left alone", () => {
  using of = temporaryDatabase();
  of.db.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
  rewriteWal(of.db, of.file);
  closeDatabase(of.db);
  openDatabase(of.file).close();
});
