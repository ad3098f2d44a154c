import { expect, test } from "bun:test";
import { Committer } from "../../../../src/platform/db/group-commit.ts";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import { type TemporaryDatabase, temporaryDatabase } from "../../../support/db/temporary.ts";

// A COMMIT that fails: whether a start would find the transaction in the log is not always known.

const names = (of: TemporaryDatabase) =>
  of.db.orm
    .select({ name: instance.name })
    .from(instance)
    .all()
    .map((row) => row.name);

const insert = (of: TemporaryDatabase, name: string, value = "") =>
  of.db.orm.insert(instance).values({ name, value }).run();

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error("it was fulfilled");
    },
    (error: unknown) => error,
  );

/** Storage whose COMMIT ends with `code`, having kept the transaction or not. */
function failingCommit(of: TemporaryDatabase, code: string, isKept: boolean): Committer {
  const error = Object.assign(new Error("disk I/O error"), { name: "SQLiteError", code });
  const sqlite = new Proxy(of.db.sqlite, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name !== "prepare") return typeof member === "function" ? (member as () => unknown).bind(target) : member;
      return (statement: string) => {
        const real = target.prepare(statement);
        if (statement !== "COMMIT") return real;
        const run = () => {
          if (isKept) real.run();
          throw error;
        };
        return { run };
      };
    },
  });
  return new Committer({ sqlite, listeners: [] });
}

test.each([
  ["SQLITE_IOERR_FSYNC", true],
  ["SQLITE_IOERR_WRITE", true],
  ["SQLITE_IOERR_SHMSIZE", true],
  ["SQLITE_IOERR", true],
  ["SQLITE_NOMEM", true],
  ["SQLITE_CORRUPT", true],
  ["SQLITE_FULL", false],
  ["SQLITE_BUSY", false],
  ["SQLITE_READONLY_DBMOVED", false],
])("of a COMMIT that fails with %s it is unknown whether it was kept: %p", async (code, isUnknown) => {
  for (const isKept of [true, false]) {
    using of = temporaryDatabase();
    const error = await rejection(failingCommit(of, code, isKept).commit(() => insert(of, "row")));
    expect(error).toBeInstanceOf(StorageError);
    expect(error).toMatchObject({ code, isUnknown });
    expect(names(of)).toEqual(isKept ? ["row"] : []);
  }
});

test("what fails before the COMMIT was certainly not kept", async () => {
  using of = temporaryDatabase();
  of.db.sqlite.run("PRAGMA max_page_count = 1"); // no fewer than there are
  expect(await rejection(of.committer.commit(() => insert(of, "row", "x".repeat(1_000_000))))).toMatchObject({
    isUnknown: false,
  });
});
