import { describe, expect, test } from "bun:test";
import { createDatabaseGrowth } from "../../../../src/platform/db/file/growth.ts";
import { openInstanceSettings } from "../../../../src/platform/db/instance-settings.ts";
import { createFileShrink } from "../../../../src/platform/db/file/shrink.ts";
import { temporaryDatabase, turn } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const MIB = 1024 ** 2;

function open() {
  const temporary = temporaryDatabase();
  const { db, committer } = temporary;
  const clock = fakeClock(NOON);
  const events: string[] = [];
  const errors: unknown[] = [];
  const log = {
    event: (name: string) => void events.push(name),
    error: (_: string, error: unknown) => void errors.push(error),
  };
  const context = { commit: committer.commit, clock, log };
  db.sqlite.run("CREATE TABLE filler (id INTEGER PRIMARY KEY, content BLOB)");
  return {
    db,
    clock,
    events,
    errors,
    context,
    add: (mebibytes: number) =>
      db.sqlite.transaction(() => {
        for (let n = 0; n < mebibytes; n += 1)
          db.sqlite.run("INSERT INTO filler (content) VALUES (zeroblob(?))", [MIB]);
      })(),
    pragma: (name: string) => Number(Object.values(db.sqlite.query(`PRAGMA ${name}`).get() ?? {})[0]),
    [Symbol.dispose]: () => temporary[Symbol.dispose](),
  };
}

describe("how long the disk lasts", () => {
  test("is known after a day, from the growth since then, and over a restart", async () => {
    using on = open();
    const guard = { spareBytes: 1_000 * MIB };
    const start = () => {
      const growth = createDatabaseGrowth({ ...on.context, db: on.db, settings: openInstanceSettings(on.db), guard });
      growth.start();
      return growth;
    };
    const growth = start();
    await turn(5);
    expect(growth.daysLeft()).toBeNull();
    on.add(20);
    on.clock.advance(2 * DAY_MS);
    await turn(5);
    // 10 MiB a day, but for some pages.
    expect(growth.daysLeft()).toBeWithin(97, 101);
    await growth.stop();
    const next = start();
    expect(next.daysLeft()).toBe(growth.daysLeft());
    guard.spareBytes = 100 * MIB;
    expect(next.daysLeft()).toBe(9);
    await next.stop();
    expect(on.errors).toEqual([]);
  });

  test("is not said while the database does not grow, or the free space is not known", async () => {
    using on = open();
    const guard: { spareBytes: number | null } = { spareBytes: 1_000 * MIB };
    on.add(10);
    const growth = createDatabaseGrowth({ ...on.context, db: on.db, settings: openInstanceSettings(on.db), guard });
    growth.start();
    await turn(5);
    on.db.sqlite.run("DELETE FROM filler");
    on.clock.advance(2 * DAY_MS);
    await turn(5);
    expect(growth.daysLeft()).toBeNull();
    on.add(30);
    expect(growth.daysLeft()).toBeGreaterThan(0);
    guard.spareBytes = null;
    expect(growth.daysLeft()).toBeNull();
    await growth.stop();
  });
});

describe("the file's free room", () => {
  async function run(on: ReturnType<typeof open>, task: ReturnType<typeof createFileShrink>) {
    task.start();
    for (let step = 0; step < 20_000 && !on.events.includes("database.shrunk"); step += 1) {
      await turn();
      on.clock.advance(20);
    }
    await task.stop();
  }

  test("is given back in steps once it is a quarter of the file, and what is there stays whole", async () => {
    using on = open();
    on.add(200);
    on.db.sqlite.run("DELETE FROM filler WHERE id % 2 = 0");
    const before = on.pragma("page_count");
    expect(on.pragma("freelist_count")).toBeGreaterThan(before / 4);
    await run(on, createFileShrink(on.context, on.db));
    expect(on.errors).toEqual([]);
    expect(on.events).toEqual(["database.shrunk"]);
    // Down to 64 MiB, which is soon used again.
    expect(on.pragma("freelist_count") * 4_096).toBeLessThan(65 * MIB);
    expect(on.pragma("page_count")).toBeLessThan(before - 8_000);
    expect(on.db.sqlite.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(on.db.sqlite.query("SELECT COUNT(*) AS count, SUM(LENGTH(content)) AS bytes FROM filler").get()).toEqual({
      count: 100,
      bytes: 100 * MIB,
    });
  }, 60_000);

  test("stays where it is little", async () => {
    using on = open();
    on.add(100);
    on.db.sqlite.run("DELETE FROM filler WHERE id <= 10");
    const before = on.pragma("page_count");
    const task = createFileShrink(on.context, on.db);
    task.start();
    on.clock.advance(HOUR_MS);
    await turn(5);
    expect(on.pragma("page_count")).toBe(before);
    await task.stop();
  });
});
