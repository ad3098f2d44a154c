import { expect, test } from "bun:test";
import { Committer } from "../../../../src/platform/db/group-commit.ts";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { Tally } from "../../../../src/platform/db/tally.ts";

function start() {
  const db = openDatabase(":memory:");
  const written: [string, number][] = [];
  let isBroken = false;
  const tally = new Tally<{ name: string }>(({ name }, amount) => {
    if (isBroken) throw new Error("cannot be written");
    written.push([name, amount]);
  });
  db.listeners.push(tally);
  const { commit } = new Committer(db);
  return { tally, commit, written, close: () => db.close(), break: (is: boolean) => (isBroken = is) };
}

test("what the closures of a transaction count is written once for each key", async () => {
  const on = start();
  await Promise.all([
    on.commit(() => on.tally.add({ name: "a" }, 1)),
    on.commit(() => on.tally.add({ name: "a" }, 2)),
    on.commit(() => on.tally.add({ name: "b" }, 1)),
  ]);
  expect(on.written).toEqual([
    ["a", 3],
    ["b", 1],
  ]);
  on.close();
});

test("what comes to nothing is not written", async () => {
  const on = start();
  await Promise.all([
    on.commit(() => on.tally.add({ name: "a" }, 1)),
    on.commit(() => on.tally.add({ name: "a" }, -1)),
  ]);
  expect(on.written).toEqual([]);
  on.close();
});

test("a closure that throws has counted nothing", async () => {
  const on = start();
  const [, refused] = await Promise.allSettled([
    on.commit(() => on.tally.add({ name: "a" }, 1)),
    on.commit(() => {
      on.tally.add({ name: "a" }, 10);
      throw new Error("refused");
    }),
  ]);
  expect(refused.status).toBe("rejected");
  expect(on.written).toEqual([["a", 1]]);
  on.close();
});

test("a transaction that fails takes its counts with it", async () => {
  const on = start();
  on.break(true);
  expect((await Promise.allSettled([on.commit(() => on.tally.add({ name: "a" }, 1))]))[0].status).toBe("rejected");
  on.break(false);
  await on.commit(() => on.tally.add({ name: "b" }, 1));
  expect(on.written).toEqual([["b", 1]]);
  on.close();
});

test("what a closure drops is not written, and what is counted after it is", async () => {
  const on = start();
  await Promise.all([
    on.commit(() => {
      on.tally.add({ name: "a" }, 1);
      on.tally.add({ name: "b" }, 1);
    }),
    on.commit(() => {
      on.tally.add({ name: "a" }, 10);
      on.tally.drop(({ name }) => name === "a");
      on.tally.add({ name: "a" }, 100);
    }),
    on.commit(() => on.tally.add({ name: "a" }, 1000)),
  ]);
  expect(on.written).toEqual([
    ["b", 1],
    ["a", 1100],
  ]);
  on.close();
});

test("a drop is undone with its closure", async () => {
  const on = start();
  await Promise.allSettled([
    on.commit(() => on.tally.add({ name: "a" }, 1)),
    on.commit(() => {
      on.tally.drop(() => true);
      throw new Error("refused");
    }),
  ]);
  expect(on.written).toEqual([["a", 1]]);
  on.close();
});
