import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { findDamage, findDamageAtStart } from "../../../../src/platform/db/file/page-damage.ts";
import { closeDatabase, openDatabase } from "../../../../src/platform/db/open.ts";
import { openQueueStore } from "../../../../src/modules/emails/queue/store.ts";
import { temporaryFolder } from "../../../support/db/temporary.ts";

/** A closed database with a queue, of which the first page of a table or index is overwritten. */
function damaged(folder: string, name: string | null): string {
  const file = join(folder, "test.db");
  const db = openDatabase(file);
  const queue = openQueueStore(db);
  db.sqlite.run("BEGIN");
  for (let id = 1; id <= 2_000; id += 1) {
    const row = { id, laneId: id % 100, workspaceId: 1, domainId: 1, createdAt: id, nextAt: id };
    queue.add({ ...row, expiresAt: 10_000 });
  }
  db.sqlite.run("COMMIT");
  const [page] = name === null ? [] : db.sqlite.query("SELECT rootpage FROM sqlite_schema WHERE name = ?").values(name);
  const size = Number(db.sqlite.query("PRAGMA page_size").values()[0]?.[0]);
  closeDatabase(db);
  if (page !== undefined) overwrite(file, size * (Number(page[0]) - 1), size);
  return file;
}

function overwrite(file: string, at: number, length: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(length, 0xa5), 0, length, at);
  closeSync(descriptor);
}

test("a whole database has no damage", () => {
  using folder = temporaryFolder();
  const file = damaged(folder.path, null);
  expect(findDamage(file)).toEqual([]);
  expect(findDamageAtStart(file)).toEqual([]);
});

test.each(["email_queue", "email_queue_due", "instance", "webhook_job", "sms_segment_ready"])(
  "a damaged page of %s, on which a start stands, is found by both looks and named by its table",
  (name) => {
    using folder = temporaryFolder();
    const file = damaged(folder.path, name);
    const table = name.startsWith("sms_segment") ? "sms_segment" : name.replace(/_due$/, "");
    for (const found of [findDamage(file), findDamageAtStart(file)]) {
      expect(found).toHaveLength(1);
      expect(found[0]).toStartWith(`${table}: `);
    }
  },
);

test.each(["event", "email_newest", "attempt"])("a damaged page of %s is found by the look at the whole", (name) => {
  using folder = temporaryFolder();
  const file = damaged(folder.path, name);
  expect(findDamage(file)).toHaveLength(1);
  expect(findDamageAtStart(file)).toEqual([]);
});

test("where a start looks, a database of another version or program has no damage, and what is none is an error", () => {
  using folder = temporaryFolder();
  const file = damaged(folder.path, null);
  {
    using sqlite = new Database(file);
    sqlite.run("DROP INDEX sms_segment_ready");
    sqlite.run("DROP TABLE webhook_job");
  }
  expect(findDamageAtStart(file)).toEqual([]);
  const others = join(folder.path, "others.db");
  {
    using sqlite = new Database(others, { create: true });
    sqlite.run("CREATE TABLE note (text)");
  }
  expect(findDamageAtStart(others)).toEqual([]);
  const text = join(folder.path, "text.db");
  writeFileSync(text, "no database ".repeat(500));
  expect(() => findDamageAtStart(text)).toThrow("not a database");
});

test("a file that is no database is told and throws nothing", () => {
  using folder = temporaryFolder();
  const file = damaged(folder.path, null);
  overwrite(file, 0, 100);
  expect(findDamage(file)).toHaveLength(1);
});

test("what cannot be opened, as where a process has no file left, is an error and no damage", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "elsewhere.db");
  for (const look of [findDamage, findDamageAtStart]) expect(() => look(file)).toThrow("unable to open");
});
