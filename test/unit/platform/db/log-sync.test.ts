import { expect, test } from "bun:test";
import { DiskGuard } from "../../../../src/platform/db/disk-guard.ts";
import { Committer, type CommitterHooks } from "../../../../src/platform/db/group-commit.ts";
import { type LogSync, takeOverSync } from "../../../../src/platform/db/log-sync.ts";
import { readPragma } from "../../../../src/platform/db/open.ts";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { type TemporaryDatabase, temporaryDatabase, turn } from "../../../support/db/temporary.ts";

// The log is synced beside the event loop: a promise settles after the sync that followed its COMMIT.

interface Syncs extends LogSync {
  /** Those asked for and not answered yet. */
  waiting: ((error: Error | null) => void)[];
}

function manualSyncs(): Syncs {
  const waiting: Syncs["waiting"] = [];
  return {
    waiting,
    sync: (done) => void waiting.push(done),
    close: () => undefined,
  };
}

interface World extends Disposable {
  of: TemporaryDatabase;
  syncs: Syncs;
  committer: Committer;
  settled: string[];
  /** Commits a row; its name is in `settled` once its promise is. */
  write(name: string): void;
  rows(): string[];
}

function world(hooks: CommitterHooks = {}): World {
  const of = temporaryDatabase();
  const syncs = manualSyncs();
  const committer = new Committer(of.db, { now: () => 0, ...hooks }, syncs);
  const settled: string[] = [];
  const select = of.db.sqlite.query<{ name: string }, []>("SELECT name FROM instance ORDER BY name");
  return {
    of,
    syncs,
    committer,
    settled,
    write(name) {
      const insert = () => void of.db.orm.insert(instance).values({ name, value: "" }).run();
      void committer.commit(insert).then(() => settled.push(name));
    },
    rows: () => select.all().map(({ name }) => name),
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

test("what is committed is settled when the log is synced; transactions of meanwhile share the next sync", async () => {
  using on = world();
  on.write("a");
  await turn(3);
  expect(on.rows()).toEqual(["a"]);
  expect(on.settled).toEqual([]);
  on.write("b");
  await turn(3);
  on.write("c");
  await turn(3);
  expect(on.rows()).toEqual(["a", "b", "c"]);
  // The sync under way began before them.
  expect(on.syncs.waiting).toHaveLength(1);
  on.syncs.waiting.shift()?.(null);
  await turn();
  expect(on.settled).toEqual(["a"]);
  expect(on.syncs.waiting).toHaveLength(1);
  on.syncs.waiting.shift()?.(null);
  await turn();
  expect(on.settled).toEqual(["a", "b", "c"]);
  expect(on.syncs.waiting).toEqual([]);
});

test("a closure that throws is rejected when its neighbours are settled", async () => {
  using on = world();
  const failed: unknown[] = [];
  on.write("a");
  on.committer
    .commit(() => {
      throw new Error("no");
    })
    .catch((error: unknown) => failed.push(error));
  await turn(3);
  expect([on.settled, failed]).toEqual([[], []]);
  on.syncs.waiting.shift()?.(null);
  await turn();
  expect([on.settled.length, failed.length]).toEqual([1, 1]);
});

test("a flush resolves when all that was waiting is settled, whatever comes meanwhile", async () => {
  using on = world();
  let isFlushed = false;
  on.write("a");
  await turn(3);
  on.write("b");
  const flushed = on.committer.flush().then(() => (isFlushed = true));
  for (let nth = 0; nth < 3; nth++) {
    expect([nth, isFlushed]).toEqual([nth, false]);
    for (const done of on.syncs.waiting.splice(0)) done(null);
    await turn(4);
    if (isFlushed) break;
  }
  await flushed;
  expect(on.settled).toEqual(["a", "b"]);
  expect(on.syncs.waiting).toEqual([]);
});

test("after a sync that failed nothing is settled or begun any more, and it is told once", async () => {
  const failures: Error[] = [];
  using on = world({ syncFailed: (error) => failures.push(error) });
  on.write("a");
  await turn(3);
  on.write("b");
  await turn(3);
  const failure = new Error("EIO");
  on.syncs.waiting.shift()?.(failure);
  on.write("c");
  await turn(3);
  expect(failures).toEqual([failure]);
  expect(on.settled).toEqual([]);
  expect(on.syncs.waiting).toEqual([]);
  expect(on.rows()).toEqual(["a", "b"]);
});

test("how long a transaction has been waiting for its sync is known", async () => {
  let now = 0;
  using on = world({ now: () => now });
  expect(on.committer.unsyncedMs).toBe(0);
  on.write("a");
  await turn(3);
  now = 700;
  on.write("b");
  await turn(3);
  now = 1_000;
  expect(on.committer.unsyncedMs).toBe(1_000);
  on.syncs.waiting.shift()?.(null);
  expect(on.committer.unsyncedMs).toBe(300);
  on.syncs.waiting.shift()?.(null);
  expect(on.committer.unsyncedMs).toBe(0);
});

test("a sync that takes longer than ten seconds closes the guard, and its end opens it", async () => {
  let now = 0;
  using on = world({ now: () => now });
  const clock = fakeClock();
  const guard = new DiskGuard({
    committer: on.committer,
    probe: () => undefined,
    clock,
    log: { error: () => undefined },
    limits: { minFreeBytes: 1, minFreeInodesPercent: 1 },
    readFree: () => ({ freeBytes: 2, freeInodesPercent: 2 }),
    changed: () => undefined,
  });
  const advance = async (ms: number) => {
    now += ms;
    clock.advance(ms);
    await turn(6);
  };
  guard.start();
  on.write("a");
  await turn(3);
  await advance(10_000);
  expect(guard.failure).toBeNull();
  await advance(5_000);
  expect(guard.failure).toBe("the disk has not synced the database's log for 15 s");
  await advance(1_000);
  expect(guard.failure).not.toBeNull();
  for (let each = 0; each < 4; each++) {
    for (const done of on.syncs.waiting.splice(0)) done(null);
    await turn(6);
  }
  expect(guard.failure).toBeNull();
  expect(on.settled).toEqual(["a"]);
  void guard.stop();
});

test("the runtime syncs the log of a real database", async () => {
  using of = temporaryDatabase();
  expect(readPragma(of.db.sqlite, "synchronous")).toBe(2);
  const log = takeOverSync(of.db.sqlite);
  expect(readPragma(of.db.sqlite, "synchronous")).toBe(1);
  const committer = new Committer(of.db, {}, log);
  await committer.commit(() => void of.db.orm.insert(instance).values({ name: "a", value: "" }).run());
  log.close();
  const { promise, resolve } = Promise.withResolvers<Error | null>();
  log.sync(resolve);
  expect((await promise)?.message).toContain("EBADF");
});
