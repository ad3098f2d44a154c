import { expect, test } from "bun:test";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import { openKeyStore } from "../../../../src/modules/api-keys/store.ts";
import { openWorkspaceStore } from "../../../../src/modules/workspaces/store.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";

const NOW = Date.UTC(2026, 10, 21);

function openKeys() {
  const { db, committer, ...rest } = temporaryDatabase();
  const keys = openKeyStore(db);
  const { id: workspaceId } = openWorkspaceStore(db).insert({ uid: "w", name: "w", plan: "scale", createdAt: NOW });
  const insert = (hash: string) =>
    keys.insert({ uid: hash, workspaceId, domainId: null, name: "x", prefix: "x", hash, createdAt: NOW });
  return { keys, insert, commit: committer.commit, ...rest };
}

test("a deleted key is forgotten with its deletion", async () => {
  using opened = openKeys();
  const { keys, insert, commit } = opened;
  const row = await commit(() => insert("a"));
  expect(keys.byHash("a")).toMatchObject({ id: row.id });
  await commit(() => keys.delete(row));
  expect(keys.byHash("a")).toBeUndefined();
});

test("a deletion that is rolled back leaves the key valid, one made in the same transaction is none", async () => {
  using opened = openKeys();
  const { keys, insert, commit } = opened;
  const row = await commit(() => insert("a"));
  expect(keys.byHash("a")).toMatchObject({ id: row.id });
  const ended = await Promise.allSettled([
    commit(() => keys.delete(row)),
    commit(() => insert("b")),
    commit(() => {
      throw new StorageError(new Error("disk full"));
    }),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(keys.byHash("a")).toMatchObject({ id: row.id });
  expect(keys.byHash("b")).toBeUndefined();

  const alone = commit(() => {
    keys.delete(row);
    throw new Error("the closure's own");
  });
  await expect(alone).rejects.toThrow("own");
  expect(keys.byHash("a")).toMatchObject({ id: row.id });
});
