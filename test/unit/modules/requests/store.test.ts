import { expect, test } from "bun:test";
import { type NewRequest, openRequestStore, type RequestFilter } from "../../../../src/modules/requests/store.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";

const ALL: RequestFilter = {
  workspaceId: 1,
  uid: null,
  keyId: null,
  method: null,
  path: null,
  status: [100, 600],
  since: null,
  until: null,
};

function open() {
  const opened = temporaryDatabase();
  opened.db.sqlite.run(
    `INSERT INTO workspace (id, uid, name, plan, created_at, deleted_at)
     VALUES (1, 'w1', 'x', 'launch', 0, NULL), (2, 'w2', 'x', 'launch', 0, NULL), (3, 'w3', 'x', 'launch', 0, 1)`,
  );
  return { ...opened, store: openRequestStore(opened.db), [Symbol.dispose]: () => opened[Symbol.dispose]() };
}

function row(createdAt: number, changes: Partial<NewRequest> = {}): NewRequest {
  const path = "/api/v1/emails";
  const usual = { workspaceId: 1, keyId: 1, method: "POST", path, status: 202, ms: 1, error: null };
  return { uid: String(createdAt), createdAt, ...usual, ...changes };
}

test("each ring is cut to its newest, and neither pushes out the other", () => {
  using opened = open();
  const { store } = opened;
  store.write([row(1, { status: 500 }), row(2, { workspaceId: 2 })]);
  const writeAll = opened.db.sqlite.transaction(() => {
    for (let at = 0; at < 12_000; at += 500) store.write(Array.from({ length: 500 }, (_, i) => row(10 + at + i)));
  });
  writeAll();
  const count = (where: string) =>
    opened.db.sqlite.query<{ count: number }, []>(`SELECT COUNT(*) AS count FROM api_request WHERE ${where}`).get()
      ?.count;
  expect(count("workspace_id = 1 AND status = 202")).toBe(10_000);
  expect(count("workspace_id = 1 AND status = 202 AND created_at < 2010")).toBe(0);
  expect([count("status = 500"), count("workspace_id = 2")]).toEqual([1, 1]);
});

test("pages are those of both rings in one order, by any filter", () => {
  using opened = open();
  const { store } = opened;
  store.write([
    row(1),
    row(2, { status: 422 }),
    row(3, { method: "GET" }),
    row(4, { status: 503 }),
    row(5, { path: "/api/v1/sms", keyId: 2 }),
    row(6, { workspaceId: 2 }),
  ]);
  const times = (changes: Partial<RequestFilter> = {}, before: number | null = null, limit = 10) =>
    store
      .list({ ...ALL, ...changes }, before === null ? null : { createdAt: before, id: 0 }, limit)
      .map(({ createdAt }) => createdAt);
  expect(times()).toEqual([5, 4, 3, 2, 1]);
  // One more than the page, which says that there are more.
  expect(times({}, null, 2)).toEqual([5, 4, 3]);
  expect(times({}, 4)).toEqual([3, 2, 1]);
  expect(times({ status: [400, 600] })).toEqual([4, 2]);
  expect(times({ status: [500, 600] })).toEqual([4]);
  expect(times({ status: [200, 300] })).toEqual([5, 3, 1]);
  expect(times({ method: "GET" })).toEqual([3]);
  expect(times({ path: "/api/v1/s" })).toEqual([5]);
  expect(times({ keyId: 2 })).toEqual([5]);
  expect(times({ uid: "4" })).toEqual([4]);
  expect(times({ since: 2, until: 4 })).toEqual([3, 2]);
});

test("rows from before the retention are removed in batches, the oldest first, and no other", () => {
  using opened = open();
  const { store } = opened;
  store.write(Array.from({ length: 250 }, (_, i) => row(i + 1)));
  const left = () => store.list(ALL, null, 1_000).length;
  expect([store.purge(240), left()]).toEqual([true, 50]);
  expect([store.purge(240), left()]).toEqual([false, 11]);
});

test("what a workspace asked before it was deleted is not written behind its removal", () => {
  using opened = open();
  opened.store.write([row(1, { workspaceId: 3 }), row(2, { workspaceId: 4 }), row(3)]);
  expect(opened.db.sqlite.query("SELECT workspace_id FROM api_request").all()).toEqual([{ workspace_id: 1 }]);
});
