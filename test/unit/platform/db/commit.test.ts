import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { count, eq } from "drizzle-orm";
import type { Committer } from "../../../../src/platform/db/group-commit.ts";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import { isStorageError, StorageError } from "../../../../src/platform/db/storage-error.ts";
import { seeded, type TemporaryDatabase, temporaryDatabase, turn } from "../../../support/db/temporary.ts";

// One turn, one transaction; each closure its own savepoint; promises after COMMIT.

const names = (of: TemporaryDatabase) =>
  of.db.orm
    .select({ name: instance.name })
    .from(instance)
    .all()
    .map((row) => row.name)
    .toSorted();

const insert = (of: TemporaryDatabase, name: string, value = "") =>
  of.db.orm.insert(instance).values({ name, value }).run();

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => {
      throw new Error("it was fulfilled");
    },
    (error: unknown) => error,
  );

/** Leaves room for a page or so: a big row does not fit. */
function fillUp(of: TemporaryDatabase): void {
  const row = of.db.sqlite.query<{ page_count: number }, []>("PRAGMA page_count").get();
  of.db.sqlite.run(`PRAGMA max_page_count = ${row?.page_count ?? 0}`);
}

const BIG = "x".repeat(1_000_000);

test("a transaction begins no more closures after 50 ms: the rest comes first in the next, in its order", async () => {
  const batches: number[] = [];
  let now = 0;
  using of = temporaryDatabase({ committed: (_, closures) => batches.push(closures), now: () => now });
  const order: number[] = [];
  const slow = (nth: number) => {
    now += 30;
    order.push(nth);
    return nth;
  };
  const { commit } = of.committer;
  expect(await Promise.all([1, 2, 3, 4, 5].map((nth) => commit(() => slow(nth))))).toEqual([1, 2, 3, 4, 5]);
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(batches).toEqual([2, 2, 1]);
});

test("closures of one turn share one transaction, those of the next have another", async () => {
  const batches: number[] = [];
  using of = temporaryDatabase({ committed: (_, closures) => batches.push(closures) });
  const { commit } = of.committer;
  await Promise.all(["a", "b", "c"].map((name) => commit(() => insert(of, name))));
  expect(batches).toEqual([3]);
  await commit(() => insert(of, "d"));
  expect(batches).toEqual([3, 1]);
  expect(names(of)).toEqual(["a", "b", "c", "d"]);
});

test("a closure that throws is rolled back alone and rejects with what it threw", async () => {
  const failures: StorageError[] = [];
  using of = temporaryDatabase({ failed: (error) => failures.push(error) });
  const { commit } = of.committer;
  const own = new Error("mine");
  const before = commit(() => insert(of, "before"));
  const thrown = rejection(
    commit(() => {
      insert(of, "half done");
      throw own;
    }),
  );
  const after = commit(() => insert(of, "after"));
  await Promise.all([before, after]);
  expect(await thrown).toBe(own);
  expect(names(of)).toEqual(["after", "before"]);
  expect(failures).toEqual([]);
});

test("a broken constraint is the closure's own fault, also as drizzle wraps it", async () => {
  using of = temporaryDatabase();
  const { commit } = of.committer;
  await commit(() => insert(of, "twice"));
  const thrown = rejection(commit(() => insert(of, "twice")));
  const neighbour = commit(() => insert(of, "neighbour"));
  await neighbour;
  expect(isStorageError(await thrown)).toBe(false);
  expect(names(of)).toEqual(["neighbour", "twice"]);
});

test("a promise is fulfilled when another connection sees the row, and not before", async () => {
  using of = temporaryDatabase();
  const other = new Database(of.file, { readonly: true });
  const seen = () => other.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM instance").get()?.n;
  const committed = of.committer.commit(() => {
    insert(of, "row");
    return seen();
  });
  expect(seen()).toBe(0);
  expect(await committed).toBe(0);
  expect(seen()).toBe(1);
  other.close();
});

test("a closure sees what the earlier ones of its batch wrote, but nothing of those that threw", async () => {
  using of = temporaryDatabase();
  const { commit } = of.committer;
  const rows = () => of.db.orm.select({ n: count() }).from(instance).get()?.n ?? -1;
  const thrown = rejection(
    commit(() => {
      insert(of, "gone");
      throw new Error("no");
    }),
  );
  const first = commit(() => insert(of, "kept"));
  const second = commit(rows);
  await first;
  expect(await second).toBe(1);
  await thrown;
});

test("more closures than a batch holds run in order, and the loop has its turn between two batches", async () => {
  const batches: { closures: number; turn: number }[] = [];
  let turns = 0;
  using of = temporaryDatabase({ committed: (_, closures) => batches.push({ closures, turn: turns }) });
  const { commit } = of.committer;
  const order: number[] = [];
  const all = Promise.all(Array.from({ length: 1_200 }, (_, i) => commit(() => void order.push(i))));
  while (order.length < 1_200) {
    await turn();
    turns += 1;
  }
  await all;
  expect(batches.map(({ closures }) => closures)).toEqual([512, 512, 176]);
  expect(new Set(batches.map((batch) => batch.turn)).size).toBe(3);
  expect(order).toEqual(Array.from({ length: 1_200 }, (_, i) => i));
});

test("flush commits all that waits at once", async () => {
  const batches: number[] = [];
  using of = temporaryDatabase({ committed: (_, closures) => batches.push(closures) });
  const { commit } = of.committer;
  const all = Promise.all(Array.from({ length: 600 }, (_, i) => commit(() => insert(of, `row ${i}`))));
  await of.committer.flush();
  expect(batches).toEqual([512, 88]);
  expect(names(of)).toHaveLength(600);
  await all;
  await turn(2);
  expect(batches).toEqual([512, 88]);
});

test("a closure may ask for another one, which runs in the next transaction", async () => {
  using of = temporaryDatabase();
  const { commit } = of.committer;
  let inner: Promise<unknown> | undefined;
  await commit(() => {
    inner = commit(() => insert(of, "inner"));
    insert(of, "outer");
  });
  await inner;
  expect(names(of)).toEqual(["inner", "outer"]);
});

/** Breaks the storage, checks that a batch is lost as a whole, mends it, and checks that the next one works. */
async function expectWholeBatchLost(
  of: TemporaryDatabase,
  trouble: { failures: StorageError[]; code: RegExp; write: () => void; mend: () => void },
): Promise<void> {
  const { commit } = of.committer;
  let later = 0;
  const promises = [
    rejection(commit(() => 1)),
    rejection(
      commit(() => {
        throw new Error("its own fault, but nothing of its batch is left");
      }),
    ),
    rejection(commit(trouble.write)),
    rejection(
      commit(() => {
        later += 1;
      }),
    ),
  ];
  const errors = await Promise.all(promises);
  for (const error of errors) {
    expect(error).toBeInstanceOf(StorageError);
    expect((error as StorageError).code).toMatch(trouble.code);
    expect(isStorageError(error)).toBe(true);
  }
  expect(trouble.failures).toHaveLength(1);
  expect(trouble.failures[0]?.message).toMatch(trouble.code);
  expect(later).toBe(0);
  expect(of.db.sqlite.inTransaction).toBe(false);
  expect(names(of)).toEqual(["was there"]);
  trouble.mend();
  await commit(() => insert(of, "next"));
  expect(names(of)).toEqual(["next", "was there"]);
  expect(trouble.failures).toHaveLength(1);
}

async function withFailures(run: (of: TemporaryDatabase, failures: StorageError[]) => Promise<void>): Promise<void> {
  const failures: StorageError[] = [];
  using of = temporaryDatabase({ failed: (error) => failures.push(error) });
  await of.committer.commit(() => insert(of, "was there"));
  await run(of, failures);
}

describe("trouble with the storage rejects the whole batch, and nothing of it is kept", () => {
  test("a full disk, where SQLite ends the transaction by itself", () =>
    withFailures(async (of, failures) => {
      fillUp(of);
      let endedItself = false;
      const write = () => {
        try {
          of.db.sqlite.run("INSERT INTO instance (name, value) VALUES ('big', ?)", [BIG]);
        } finally {
          endedItself = !of.db.sqlite.inTransaction;
        }
      };
      const mend = () => of.db.sqlite.run("PRAGMA max_page_count = 1000000");
      await expectWholeBatchLost(of, { failures, code: /SQLITE_FULL/, write, mend });
      expect(endedItself).toBe(true);
    }));

  test("a full disk under a drizzle query", () =>
    withFailures(async (of, failures) => {
      fillUp(of);
      const mend = () => of.db.sqlite.run("PRAGMA max_page_count = 1000000");
      await expectWholeBatchLost(of, { failures, code: /SQLITE_FULL/, write: () => insert(of, "big", BIG), mend });
    }));

  test("a file that may not be written, where SQLite leaves the transaction open", () =>
    withFailures(async (of, failures) => {
      let isOpen = false;
      const write = () => {
        of.db.sqlite.run("PRAGMA query_only = ON");
        try {
          insert(of, "row");
        } finally {
          isOpen = of.db.sqlite.inTransaction;
        }
      };
      const mend = () => of.db.sqlite.run("PRAGMA query_only = OFF");
      await expectWholeBatchLost(of, { failures, code: /SQLITE_READONLY/, write, mend });
      expect(isOpen).toBe(true);
    }));

  test("a BEGIN that another writer keeps waiting for too long", () =>
    withFailures(async (of, failures) => {
      of.db.sqlite.run("PRAGMA busy_timeout = 0");
      const other = new Database(of.file);
      other.run("BEGIN IMMEDIATE");
      const mend = () => other.run("ROLLBACK");
      await expectWholeBatchLost(of, { failures, code: /SQLITE_BUSY/, write: () => insert(of, "row"), mend });
      other.close();
    }));

  test("a COMMIT that fails, after which the transaction is still open", () =>
    withFailures(async (of, failures) => {
      // A foreign key whose check is put off to the COMMIT.
      const write = () => {
        of.db.sqlite.run("PRAGMA defer_foreign_keys = ON");
        of.db.sqlite.run("INSERT INTO dkim_key VALUES (404, 's', 'rsa-sha256', '', x'')");
      };
      const { commit } = of.committer;
      let hasRun = 0;
      const errors = await Promise.all([
        rejection(
          commit(() => {
            hasRun += 1;
            return insert(of, "lost with it");
          }),
        ),
        rejection(commit(write)),
        rejection(commit(() => void hasRun++)),
      ]);
      expect(hasRun).toBe(2);
      for (const error of errors) expect(error).toBeInstanceOf(StorageError);
      expect(failures).toHaveLength(1);
      expect(of.db.sqlite.inTransaction).toBe(false);
      await commit(() => insert(of, "next"));
      expect(names(of)).toEqual(["next", "was there"]);
    }));
});

test("a batch that fails takes no other batch with it", async () => {
  using of = temporaryDatabase();
  const { commit } = of.committer;
  const promises: Promise<unknown>[] = [];
  for (let i = 0; i < 1_536; i++) {
    promises.push(
      commit(() => {
        if (i === 600) throw new StorageError(new Error("as if"));
        return insert(of, `row ${i}`);
      }),
    );
  }
  const outcomes = await Promise.allSettled(promises);
  expect(
    outcomes
      .map(({ status }, i) => ({ i, status }))
      .filter(({ status }) => status === "rejected")
      .map(({ i }) => i),
  ).toEqual(Array.from({ length: 512 }, (_, i) => 512 + i));
  expect(names(of)).toHaveLength(1_024);
});

test("a hook that throws leaves no promise unsettled", async () => {
  using of = temporaryDatabase({
    failed: () => {
      throw new Error("a bug in a hook");
    },
  });
  of.db.sqlite.run("PRAGMA query_only = ON");
  const lost = rejection(of.committer.commit(() => insert(of, "row")));
  await expect(of.committer.flush()).rejects.toThrow("a bug in a hook");
  expect(await lost).toBeInstanceOf(StorageError);
});

test("an error and its causes are recognised in any wrapping, and a circle of causes ends", () => {
  const wrapped = new Error("outer", { cause: new Error("middle", { cause: sqliteError() }) });
  expect(isStorageError(wrapped)).toBe(true);
  expect(new StorageError(wrapped).code).toBe("SQLITE_READONLY");
  const circle = new Error("a");
  circle.cause = new Error("b", { cause: circle });
  expect(isStorageError(circle)).toBe(false);
  expect(new StorageError(circle).code).toBe("ERROR");
  expect(isStorageError("SQLITE_FULL")).toBe(false);
  expect(isStorageError(new Error("SQLITE_FULL"))).toBe(false);
});

function sqliteError(): unknown {
  const sqlite = new Database(":memory:");
  sqlite.run("PRAGMA query_only = ON");
  try {
    sqlite.run("CREATE TABLE t (x)");
  } catch (error) {
    return error;
  } finally {
    sqlite.close();
  }
  throw new Error("it could be written");
}

/** What a closure does; `set` writes its number under a name, then perhaps throws. */
interface Step {
  name: string;
  value: string;
  throws: boolean;
  reads: boolean;
}

function randomSteps(random: () => number): Step[] {
  return Array.from({ length: Math.floor(random() * 40) + 1 }, () => ({
    name: `n${Math.floor(random() * 6)}`,
    value: String(Math.floor(random() * 1_000)),
    throws: random() < 0.4,
    reads: random() < 0.3,
  }));
}

/** Writes, then reads one row back, as a closure does. */
function perform(of: TemporaryDatabase, step: Step): string | null {
  const { orm } = of.db;
  if (!step.reads) {
    orm
      .insert(instance)
      .values(step)
      .onConflictDoUpdate({ target: instance.name, set: { value: step.value } })
      .run();
  }
  if (step.throws) throw new Error(step.value);
  return orm.select().from(instance).where(eq(instance.name, step.name)).get()?.value ?? null;
}

test("random mixes of closures that succeed and throw leave what a plain map would", async () => {
  using of = temporaryDatabase();
  const { commit }: Committer = of.committer;
  const random = seeded(20_261_121);
  const model = new Map<string, string>();
  for (let round = 0; round < 150; round++) {
    const steps = randomSteps(random);
    const outcomes = await Promise.allSettled(steps.map((step) => commit(() => perform(of, step))));
    for (const [i, step] of steps.entries()) {
      if (!step.throws && !step.reads) model.set(step.name, step.value);
      const expected = step.throws
        ? { status: "rejected", reason: new Error(step.value) }
        : { status: "fulfilled", value: model.get(step.name) ?? null };
      expect(outcomes[i] as unknown).toEqual(expected);
    }
    const kept = of.db.orm.select().from(instance).all();
    expect(new Map(kept.map((row) => [row.name, row.value]))).toEqual(model);
    expect(of.db.sqlite.inTransaction).toBe(false);
  }
});
