import { expect, test } from "bun:test";
import { openEventStore } from "../../../../src/modules/events/store.ts";
import { newId } from "../../../../src/platform/uuid.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { temporaryDatabase, type TemporaryDatabase } from "../../../support/db/temporary.ts";

const NOW = 1_790_000_000_000;

function setUp(of: TemporaryDatabase) {
  of.db.sqlite.run(
    `INSERT INTO workspace (uid, name, plan, created_at) VALUES ('w1', 'w', 'free', 0), ('w2', 'w', 'free', 0), ('w3', 'w', 'free', 0)`,
  );
  const store = openEventStore(of.db);
  const add = (workspaceId: number, at: number): { id: number; uid: string } => {
    const uid = newId(at, systemRandom);
    const row = { uid, workspaceId, type: "email.sent", resource: "r", body: "{}", createdAt: at } as const;
    return { id: store.insert(row), uid };
  };
  return { store, add };
}

test("an event is found by its id, whichever workspace it is of, and without walking the table", () => {
  using of = temporaryDatabase();
  const { store, add } = setUp(of);
  const events = [1, 2, 3, 1].map((workspaceId) => add(workspaceId, NOW));
  for (const { id, uid } of events) expect(store.byUid(uid)?.id).toBe(id);
  expect(store.byUid(newId(NOW, systemRandom))).toBeUndefined();
  expect(store.byUid("no id")).toBeUndefined();
  const statements: string[] = [];
  const { prepare } = of.db.sqlite;
  of.db.sqlite.prepare = ((sql: string, ...rest: never[]) => {
    statements.push(sql);
    return prepare.call(of.db.sqlite, sql, ...rest);
  }) as typeof prepare;
  store.byUid(events[0]?.uid ?? "");
  of.db.sqlite.prepare = prepare;
  const plan = statements.flatMap((sql) =>
    of.db.sqlite.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all(),
  );
  expect(plan.map(({ detail }) => detail).join("\n")).toContain(
    "SEARCH event USING INDEX event_since (workspace_id=? AND created_at=?)",
  );
});

test("events older than the retention are removed a thousand at a time; the clock may have been wrong", () => {
  using of = temporaryDatabase();
  const { store, add } = setUp(of);
  const future: { uid: string }[] = [];
  of.db.sqlite.transaction(() => {
    for (let nth = 0; nth < 1_001; nth++) future.push(add(1, NOW + 1_000_000));
    for (let nth = 0; nth < 2_500; nth++) add(1 + (nth % 3), NOW - 5_000 + nth);
  })();
  const young = add(2, NOW);
  let passes = 1;
  while (store.purge(NOW - 1_000)) passes += 1;
  expect(passes).toBe(3);
  expect(future.filter(({ uid }) => store.byUid(uid) === undefined)).toEqual([]);
  expect(store.byUid(young.uid)?.id).toBe(young.id);
  expect(of.db.sqlite.query("SELECT COUNT(*) AS count FROM event").get()).toEqual({ count: 1_002 });
  expect(store.purge(NOW - 1_000)).toBe(false);
});
