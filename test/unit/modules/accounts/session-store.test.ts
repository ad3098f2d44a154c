import { expect, test } from "bun:test";
import { openSessionStore } from "../../../../src/modules/accounts/session-store.ts";
import { openUserStore } from "../../../../src/modules/accounts/store.ts";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";

const NOW = Date.UTC(2026, 10, 21);
const AGES = { idleMs: 1_000, absoluteMs: 5_000 };

function openSessions() {
  const { db, committer, ...rest } = temporaryDatabase();
  const sessions = openSessionStore(db);
  const users = openUserStore(db);
  const user = users.insert({ uid: "u", email: "u@example.com", name: "u", createdAt: NOW });
  const insert = (hash: string, at = NOW, userId = user.id) =>
    sessions.insert({
      ...{ uid: hash, hash, userId, method: "password", createdAt: at, provedAt: at, lastSeenAt: at },
    });
  return { sessions, users, user, insert, commit: committer.commit, ...rest };
}

test("an ended session is forgotten with its end, and a changed one is read again", async () => {
  using opened = openSessions();
  const { sessions, insert, commit } = opened;
  const row = await commit(() => insert("a"));
  expect(sessions.byHash("a")).toMatchObject({ id: row.id, provedAt: NOW, isOperator: false });
  await commit(() => sessions.update(row.id, { provedAt: NOW + 1 }));
  expect(sessions.byHash("a")).toMatchObject({ provedAt: NOW + 1 });
  await commit(() => sessions.endOfUser(row.userId));
  expect(sessions.byHash("a")).toBeUndefined();
});

test("an end that is rolled back leaves the session", async () => {
  using opened = openSessions();
  const { sessions, insert, commit } = opened;
  const row = await commit(() => insert("a"));
  expect(sessions.byHash("a")).toMatchObject({ id: row.id });
  const ended = await Promise.allSettled([
    commit(() => sessions.end(row.id)),
    commit(() => {
      throw new StorageError(new Error("disk full"));
    }),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(sessions.byHash("a")).toMatchObject({ id: row.id });
});

test("old sessions are removed by the ages of their person, and others stay", async () => {
  using opened = openSessions();
  const { sessions, users, insert, commit } = opened;
  const operator = users.insert({ uid: "o", email: "o@example.com", name: "o", isOperator: true, createdAt: NOW });
  const removed = await commit(() => {
    for (const [hash, age] of [
      ["young", 999],
      ["idle", 1_001],
    ] as const)
      insert(hash, NOW - age);
    insert("operator", NOW - 501, operator.id);
    insert("new operator", NOW - 499, operator.id);
    const used = insert("used", NOW - 5_001);
    sessions.update(used.id, { lastSeenAt: NOW });
    return sessions.purge(NOW, AGES, { idleMs: 500, absoluteMs: 1_000 });
  });
  expect(removed).toBe(false);
  const left = ["young", "idle", "used", "operator", "new operator"].filter(
    (hash) => sessions.byHash(hash) !== undefined,
  );
  expect(left).toEqual(["young", "new operator"]);
});
