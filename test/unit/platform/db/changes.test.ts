import { expect, test } from "bun:test";
import { Committer } from "../../../../src/platform/db/group-commit.ts";
import { openDatabase } from "../../../../src/platform/db/open.ts";

function start() {
  const db = openDatabase(":memory:");
  const seen: string[] = [];
  const watch = (workspaceId: number) =>
    db.changes.watch(workspaceId, (kind, id) => void seen.push(`${workspaceId} ${kind} ${id}`));
  const { commit } = new Committer(db);
  return { ...db, commit, seen, watch, [Symbol.dispose]: () => db.close() };
}

test("a watcher hears of the changes of its workspace after the COMMIT, and of no other's", async () => {
  using on = start();
  on.watch(1);
  await Promise.all([
    on.commit(() => on.changes.note(1, "emails", 7)),
    on.commit(() => on.changes.note(2, "emails", 8)),
    on.commit(() => {
      on.changes.note(1, "keys");
      expect(on.seen).toEqual([]);
    }),
  ]);
  expect(on.seen).toEqual(["1 emails 7", "1 keys null"]);
});

test("what a closure noted that threw is not told, nor is that of a transaction that failed", async () => {
  using on = start();
  on.watch(1);
  await Promise.allSettled([
    on.commit(() => on.changes.note(1, "emails", 1)),
    on.commit(() => {
      on.changes.note(1, "emails", 2);
      throw new Error("refused");
    }),
  ]);
  expect(on.seen).toEqual(["1 emails 1"]);
  let isFailing = true;
  on.listeners.push({
    onRollbackTo: () => undefined,
    onRollback: () => undefined,
    beforeCommit() {
      if (isFailing) throw new Error("cannot be written");
    },
  });
  await Promise.allSettled([on.commit(() => on.changes.note(1, "emails", 3))]);
  isFailing = false;
  await on.commit(() => undefined);
  expect(on.seen).toEqual(["1 emails 1"]);
});

test("who watches no more hears nothing, and the others of the workspace still do", async () => {
  using on = start();
  const end = on.watch(1);
  on.watch(1);
  end();
  end();
  await on.commit(() => on.changes.note(1, "domains"));
  expect(on.seen).toEqual(["1 domains null"]);
});
