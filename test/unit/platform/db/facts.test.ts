import { expect, test } from "bun:test";
import { AfterCommit } from "../../../../src/platform/db/after-commit.ts";
import { Tally } from "../../../../src/platform/db/tally.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";

function start() {
  const database = temporaryDatabase();
  const { db, committer } = database;
  const facts = new AfterCommit();
  const told: string[] = [];
  let isBroken = false;
  const tally = new Tally(() => {
    if (isBroken) throw new Error("cannot be written");
  });
  db.listeners.push(tally, facts);
  return {
    told,
    commit: committer.commit,
    note: (name: string) => {
      tally.add({ name }, 1);
      facts.run(() => told.push(`${name}${db.sqlite.inTransaction ? " too early" : ""}`));
    },
    break: (is: boolean) => (isBroken = is),
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}

test("what happened is told once it is durable, in its order, before anybody is answered", async () => {
  using on = start();
  const seen: string[][] = [];
  await Promise.all(["a", "b"].map((name) => on.commit(() => on.note(name)).then(() => seen.push([...on.told]))));
  expect(seen).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
  await on.commit(() => undefined);
  expect(on.told).toEqual(["a", "b"]);
});

test("of a closure that throws nothing is told", async () => {
  using on = start();
  await Promise.allSettled([
    on.commit(() => on.note("a")),
    on.commit(() => {
      on.note("refused");
      throw new Error("refused");
    }),
    on.commit(() => on.note("b")),
  ]);
  expect(on.told).toEqual(["a", "b"]);
});

test("of a transaction that fails nothing is told, not even later", async () => {
  using on = start();
  on.break(true);
  await Promise.allSettled([on.commit(() => on.note("lost"))]);
  on.break(false);
  await on.commit(() => on.note("kept"));
  expect(on.told).toEqual(["kept"]);
});
