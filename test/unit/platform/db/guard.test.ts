import { expect, test } from "bun:test";
import { type CommitterHooks } from "../../../../src/platform/db/group-commit.ts";
import {
  type DiskLimits,
  DiskGuard,
  createFreeSpaceReader,
  type ReadFree,
} from "../../../../src/platform/db/disk-guard.ts";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import { type FakeClock, fakeClock } from "../../../support/fakes/clock.ts";
import { type TemporaryDatabase, temporaryDatabase, temporaryFolder, turn } from "../../../support/db/temporary.ts";

const PLENTY = { freeBytes: 10_000_000_000, freeInodesPercent: 90 };
const LIMITS: DiskLimits = { minFreeBytes: 500 * 1024 * 1024, minFreeInodesPercent: 5 };

interface World extends Disposable {
  of: TemporaryDatabase;
  clock: FakeClock;
  guard: DiskGuard;
  /** Each change that was told. */
  told: (string | null)[];
  /** Transactions tried that no write() asked for: the guard's. */
  probes: () => number;
  opened: () => number;
  setWritable(isWritable: boolean): void;
  setProbe(probe: () => void): void;
  setFree(readFree: ReadFree): void;
  /** A write as any room makes it; false: it could not be kept. */
  write(): Promise<boolean>;
  /** Moves the clock on and lets the guard's commit run. */
  advance(ms: number): Promise<void>;
}

function world(): World {
  const hooks: CommitterHooks = {};
  const of = temporaryDatabase(hooks);
  const clock = fakeClock();
  const told: (string | null)[] = [];
  let transactions = 0;
  let writes = 0;
  let opened = 0;
  let probe = (): void =>
    void of.db.orm.insert(instance).values({ name: "probe", value: "" }).onConflictDoNothing().run();
  let readFree: ReadFree = () => PLENTY;
  const guard = new DiskGuard({
    committer: of.committer,
    probe: () => probe(),
    clock,
    log: { error: () => undefined },
    limits: LIMITS,
    readFree: () => readFree(),
    changed: (reason) => told.push(reason),
  });
  hooks.committed = () => void transactions++;
  hooks.failed = (error) => {
    transactions += 1;
    guard.raise(error);
  };
  guard.whenOpen(() => void opened++);
  guard.start();
  return {
    of,
    clock,
    guard,
    told,
    probes: () => transactions - writes,
    opened: () => opened,
    setWritable: (isWritable) => of.db.sqlite.run(`PRAGMA query_only = ${isWritable ? "OFF" : "ON"}`),
    setProbe: (next) => (probe = next),
    setFree: (next) => (readFree = next),
    write() {
      writes += 1;
      return of.committer
        .commit(() => of.db.orm.insert(instance).values({ name: crypto.randomUUID(), value: "" }).run())
        .then(
          () => true,
          () => false,
        );
    },
    async advance(ms) {
      clock.advance(ms);
      await turn(4);
    },
    [Symbol.dispose]() {
      void guard.stop();
      of[Symbol.dispose]();
    },
  };
}

test("a commit that fails closes the guard, told once with the reason", async () => {
  using on = world();
  expect(on.guard.blockedReason).toBeNull();
  on.setWritable(false);
  expect(await on.write()).toBe(false);
  expect(await on.write()).toBe(false);
  expect(on.guard.failure).toContain("SQLITE_READONLY");
  expect(on.guard.blockedReason).toBe(on.guard.failure);
  expect(on.told).toHaveLength(1);
  expect(on.told[0]).toContain("SQLITE_READONLY");
});

test("it tries a write each second, and opens by itself once that is kept", async () => {
  using on = world();
  on.setWritable(false);
  await on.write();
  await on.advance(999);
  expect(on.probes()).toBe(0);
  await on.advance(1);
  expect(on.probes()).toBe(1);
  await on.advance(1_000);
  await on.advance(1_000);
  expect(on.probes()).toBe(3);
  expect(on.guard.failure).not.toBeNull();
  expect(on.opened()).toBe(0);
  on.setWritable(true);
  await on.advance(1_000);
  expect(on.guard.blockedReason).toBeNull();
  expect(on.told).toEqual([expect.stringContaining("SQLITE_READONLY"), null]);
  expect(on.opened()).toBe(1);
  const tried = on.probes();
  await on.advance(60_000);
  expect(on.probes()).toBe(tried);
});

test("many failures at once ask for one write a second, not many", async () => {
  using on = world();
  on.setWritable(false);
  for (let i = 0; i < 20; i++) await on.write();
  await on.advance(1_000);
  expect(on.probes()).toBe(1);
});

test("a write of the guard's that fails by a bug is tried again, so that the guard does not stay closed for ever", async () => {
  using on = world();
  on.setWritable(false);
  await on.write();
  on.setWritable(true);
  on.setProbe(() => {
    throw new Error("a bug in the probe");
  });
  await on.advance(1_000);
  expect(on.guard.failure).not.toBeNull();
  on.setProbe(() => undefined);
  await on.advance(1_000);
  expect(on.guard.failure).toBeNull();
  expect(on.opened()).toBe(1);
});

test("a failure right after the guard's write was kept keeps the guard closed", async () => {
  using on = world();
  on.setWritable(false);
  await on.write();
  on.setWritable(true);
  on.clock.advance(1_000);
  await turn();
  // The rest of the probe's writing fills a batch with these; the batch after it, in the same turn, is lost.
  for (let i = 0; i < 511; i++) void on.of.committer.commit(() => undefined);
  const late = on.of.committer
    .commit(() => {
      on.setWritable(false);
      on.of.db.orm.insert(instance).values({ name: "late", value: "" }).run();
    })
    .then(
      () => true,
      () => false,
    );
  await on.of.committer.flush();
  expect(await late).toBe(false);
  await turn(4);
  expect(on.guard.failure).not.toBeNull();
  expect(on.opened()).toBe(0);
  on.setWritable(true);
  await on.advance(1_000);
  expect(on.guard.failure).toBeNull();
});

test("too little free space refuses new work but does not stop the recording of outcomes", async () => {
  using on = world();
  on.setFree(() => ({ ...PLENTY, freeBytes: 100 * 1024 * 1024 }));
  await on.advance(5_000);
  expect(on.guard.blockedReason).toBe("the disk has 100 MiB free, less than [disk] min_free (500 MiB)");
  expect(on.guard.spareBytes).toBe(0);
  expect(on.guard.failure).toBeNull();
  await on.advance(5_000);
  expect(on.told).toHaveLength(1);
  on.setFree(() => ({ ...PLENTY, freeBytes: LIMITS.minFreeBytes }));
  await on.advance(5_000);
  expect(on.guard.blockedReason).toBeNull();
  expect(on.told).toEqual([expect.stringContaining("100 MiB"), null]);
  on.setFree(() => PLENTY);
  await on.advance(5_000);
  expect(on.guard.spareBytes).toBe(PLENTY.freeBytes - LIMITS.minFreeBytes);
});

test("too few free inodes count as too little space", async () => {
  using on = world();
  on.setFree(() => ({ ...PLENTY, freeInodesPercent: 4.99 }));
  await on.advance(5_000);
  expect(on.guard.blockedReason).toContain("min_free_inodes_percent");
});

test("when writing works again on a disk that is still low, those that wait for it are called", async () => {
  using on = world();
  on.setFree(() => ({ ...PLENTY, freeBytes: 0 }));
  await on.advance(5_000);
  on.setWritable(false);
  await on.write();
  on.setWritable(true);
  await on.advance(1_000);
  expect(on.guard.failure).toBeNull();
  expect(on.guard.blockedReason).toContain("min_free");
  // Else what waits in the queue would not be sent until somebody frees space, although it could be.
  expect(on.opened()).toBe(1);
  expect(on.told).toHaveLength(1);
});

test("while the replica is behind nothing is accepted or sent; who waits is called when it has caught up, also beside one that throws", async () => {
  using on = world();
  let calls = 0;
  on.guard.whenOpen(() => {
    throw new Error("planted");
  });
  on.guard.whenOpen(() => void (calls += 1));
  on.guard.setBehind("the replica is behind");
  expect([on.guard.failure, on.guard.blockedReason]).toEqual(["the replica is behind", "the replica is behind"]);
  expect(on.guard.issues).toMatchObject([{ component: "replication", kind: "behind" }]);
  // A disk that fails meanwhile keeps it closed.
  on.setWritable(false);
  await on.write();
  on.guard.setBehind(null);
  expect([on.guard.failure === null, calls]).toEqual([false, 0]);
  on.setWritable(true);
  await on.advance(1_000);
  expect([on.guard.failure, calls]).toEqual([null, 1]);
});

test("a file system that does not answer is trouble, not the end of the process", async () => {
  using on = world();
  on.setFree(() => {
    throw new Error("EIO: i/o error, statfs");
  });
  await on.advance(5_000);
  expect(on.guard.blockedReason).toContain("cannot be read: EIO");
  expect(on.guard.failure).toBeNull();
  on.setFree(() => PLENTY);
  await on.advance(5_000);
  expect(on.guard.blockedReason).toBeNull();
});

test("a data directory that is gone is trouble from the start", () => {
  using of = temporaryDatabase();
  const folder = temporaryFolder();
  folder[Symbol.dispose]();
  const told: (string | null)[] = [];
  const guard = new DiskGuard({
    committer: of.committer,
    probe: () => undefined,
    clock: fakeClock(),
    log: { error: () => undefined },
    limits: LIMITS,
    readFree: createFreeSpaceReader(folder.path),
    changed: (reason) => told.push(reason),
  });
  guard.start();
  expect(guard.blockedReason).toContain("ENOENT");
  expect(told).toHaveLength(1);
  void guard.stop();
});

test("who no longer waits is not called", async () => {
  using on = world();
  let called = 0;
  const forget = on.guard.whenOpen(() => void called++);
  forget();
  on.setWritable(false);
  await on.write();
  on.setWritable(true);
  await on.advance(1_000);
  expect([called, on.opened()]).toEqual([0, 1]);
});

test("a stopped guard sets no timer any more, not even by a failure or a write that ends later", async () => {
  using on = world();
  on.setWritable(false);
  await on.write();
  on.clock.advance(1_000);
  void on.guard.stop();
  await turn(2);
  await on.write();
  expect(on.clock.pending).toBe(0);
});

test("the free space of a real folder can be read", () => {
  using folder = temporaryFolder();
  const { freeBytes, freeInodesPercent } = createFreeSpaceReader(folder.path)();
  expect(freeBytes).toBeGreaterThan(0);
  expect(freeInodesPercent).toBeGreaterThan(0);
  expect(freeInodesPercent).toBeLessThanOrEqual(100);
});
