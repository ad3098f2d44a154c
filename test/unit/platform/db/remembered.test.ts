import { expect, test } from "bun:test";
import { TransactionalCache } from "../../../../src/platform/db/transactional-cache.ts";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";

function start() {
  const of = temporaryDatabase();
  const { orm } = of.db;
  const remembered = new TransactionalCache<string, string>(10);
  of.db.listeners.push(remembered);
  const set = (value: string) => {
    orm
      .insert(instance)
      .values({ name: "plan", value })
      .onConflictDoUpdate({ target: instance.name, set: { value } })
      .run();
    remembered.delete("plan");
  };
  const read = () => {
    const known = remembered.get("plan");
    if (known !== undefined) return known;
    const value = orm.select().from(instance).get()?.value ?? "";
    remembered.set("plan", value);
    return value;
  };
  const { commit } = of.committer;
  return { commit, set, read, remembered, sqlite: of.db.sqlite, [Symbol.dispose]: () => of[Symbol.dispose]() };
}

const refuse = () => {
  throw new Error("no");
};

test("what was read is remembered until it changes", async () => {
  using on = start();
  await on.commit(() => on.set("a"));
  expect([on.remembered.get("plan"), on.read(), on.remembered.get("plan")]).toEqual([undefined, "a", "a"]);
  await on.commit(() => on.set("b"));
  expect([on.read(), on.remembered.get("plan")]).toEqual(["b", "b"]);
});

test("what a closure read of its own change is forgotten with it when it is rolled back", async () => {
  using on = start();
  await on.commit(() => on.set("a"));
  on.read();
  // Run twice, the second time with a savepoint (commit.ts).
  const seen: string[] = [];
  const failing = on.commit(() => {
    on.set("b");
    seen.push(on.read());
    refuse();
  });
  const after = on.commit(() => void seen.push(on.read()));
  await expect(failing).rejects.toThrow("no");
  await after;
  expect([...seen, on.read()]).toEqual(["b", "b", "a", "a"]);
});

test("what others read of a change is forgotten when the whole transaction is rolled back", async () => {
  using on = start();
  await on.commit(() => on.set("a"));
  on.read();
  const seen: string[] = [];
  const all = [
    on.commit(() => on.set("b")),
    on.commit(() => void seen.push(on.read())),
    on.commit(() => {
      // As a full disk does.
      on.sqlite.run("ROLLBACK");
      refuse();
    }),
  ];
  expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect([...seen, on.read(), on.remembered.get("plan")]).toEqual(["b", "a", "a"]);
});

test("a change beside another's refusal is seen by all that follow", async () => {
  using on = start();
  await on.commit(() => on.set("a"));
  on.read();
  const kept = on.commit(() => on.set("b"));
  const refused = on.commit(() => {
    on.set("c");
    on.read();
    refuse();
  });
  await kept;
  await expect(refused).rejects.toThrow("no");
  expect([on.read(), on.remembered.get("plan")]).toEqual(["b", "b"]);
});

test("no more is remembered than its limit", () => {
  const remembered = new TransactionalCache<number, number>(3);
  for (let key = 0; key < 10; key++) remembered.set(key, key);
  expect([...Array(10).keys()].filter((key) => remembered.get(key) !== undefined).length).toBeLessThanOrEqual(3);
  expect(remembered.get(9)).toBe(9);
});

test("after a change of any row none is remembered until the transaction's fate is known", async () => {
  using on = start();
  await on.commit(() => on.set("a"));
  on.read();
  await on.commit(() => {
    on.remembered.clear();
    expect(on.remembered.get("plan")).toBeUndefined();
    on.read();
    expect(on.remembered.get("plan")).toBeUndefined();
  });
  on.read();
  expect(on.remembered.get("plan")).toBe("a");
});

test("a row that is put is known at once, and forgotten when its closure or its transaction is rolled back", async () => {
  using on = start();
  const seen: (string | undefined)[] = [];
  const put = (value: string) => {
    on.set(value);
    on.remembered.put("plan", value);
    seen.push(on.remembered.get("plan"));
  };
  await on.commit(() => put("a"));
  expect([...seen.splice(0), on.remembered.get("plan")]).toEqual(["a", "a"]);
  const kept = on.commit(() => put("b"));
  const refused = on.commit(() => {
    put("c");
    refuse();
  });
  await kept;
  await expect(refused).rejects.toThrow("no");
  expect([on.remembered.get("plan"), on.read()]).toEqual([undefined, "b"]);
  const lost = on.commit(() => {
    put("d");
    on.sqlite.run("ROLLBACK");
    refuse();
  });
  await expect(lost).rejects.toThrow();
  expect([on.remembered.get("plan"), on.read()]).toEqual([undefined, "b"]);
});
