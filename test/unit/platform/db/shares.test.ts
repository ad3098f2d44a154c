import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { emailQueue, idempotency } from "../../../../src/platform/db/schema/schema.ts";
import { prepareBatchEnd, PURGE_ROWS, removeOldest, removeBatch } from "../../../../src/platform/db/batches.ts";

function withQueueOf(ids: number[]) {
  const db = openDatabase(":memory:");
  const row = { laneId: 1, workspaceId: 1, domainId: 1, createdAt: 1, nextAt: 1, expiresAt: 2 };
  for (const id of ids)
    db.orm
      .insert(emailQueue)
      .values({ ...row, id })
      .run();
  return db;
}

test("a share ends at the row that many ids further on, and nowhere where fewer are left", () => {
  const { orm } = withQueueOf([3, 5, 8, 9]);
  const endOf = prepareBatchEnd(orm, emailQueue);
  expect([endOf(0, 1), endOf(0, 3), endOf(5, 2), endOf(0, 4)]).toEqual([3, 8, 9, 9]);
  expect([endOf(0, 5), endOf(8, 2), endOf(9, 1)]).toEqual([null, null, null]);
});

test("a share is removed of what is meant, and nothing else, until there is no more", () => {
  const { orm } = withQueueOf([1, 2, 3, 4, 5]);
  orm.update(emailQueue).set({ laneId: 2 }).where(eq(emailQueue.id, 4)).run();
  const isOfLane = eq(emailQueue.laneId, 1);
  expect(removeBatch(orm, emailQueue, isOfLane, 3)).toBe(true);
  expect(orm.select().from(emailQueue).all()).toHaveLength(2);
  expect(removeBatch(orm, emailQueue, isOfLane, 3)).toBe(false);
  expect(orm.select({ id: emailQueue.id }).from(emailQueue).all()).toEqual([{ id: 4 }]);
});

test("the oldest go first, those of one time together however many they are, and what is not old stays", () => {
  const { orm, sqlite } = openDatabase(":memory:");
  const insert = sqlite.query(
    "INSERT INTO idempotency (workspace_id, domain_id, operation, key, request_hash, response, created_at) VALUES (1, 0, 'o', ?, X'00', '{}', ?)",
  );
  const add = (many: number, at: number) => {
    for (let each = 0; each < many; each += 1) insert.run(`${at}-${each}`, at);
  };
  add(PURGE_ROWS + 5, 10);
  add(3, 20);
  add(1, 30);
  const left = () =>
    orm
      .select({ at: idempotency.createdAt })
      .from(idempotency)
      .all()
      .map(({ at }) => at);
  expect(removeOldest(orm, idempotency, 30)).toBe(true);
  expect(left()).toEqual([20, 20, 20, 30]);
  expect(removeOldest(orm, idempotency, 30)).toBe(false);
  expect(left()).toEqual([30]);
});
