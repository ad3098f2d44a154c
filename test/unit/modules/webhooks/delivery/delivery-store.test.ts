import { expect, test } from "bun:test";
import { prepareAtOnce } from "../../../../../src/platform/db/statement.ts";
import { openDeliveryStore } from "../../../../../src/modules/webhooks/delivery/delivery-store.ts";
import { type TemporaryDatabase, temporaryDatabase } from "../../../../support/db/temporary.ts";

const WEBHOOK = { id: 7, workspaceId: 1 };

/** `count` events of workspace 1 and as many of workspace 2, ten of each in a millisecond. */
function seed({ db }: TemporaryDatabase, count: number): void {
  db.sqlite.run(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${2 * count - 1})
     INSERT INTO event (uid, workspace_id, type, resource, body, created_at)
     SELECT 'e' || i, 1 + i % 2, 'email.sent', 'r', '{}', 1000 + i / 20 FROM n`,
  );
}

/** The plan of each statement that `read` runs. */
function plansOf({ db }: TemporaryDatabase, statements: string[]): string {
  return statements
    .filter((sql) => /^\s*select/i.test(sql))
    .flatMap((sql) => db.sqlite.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all())
    .map(({ detail }) => detail)
    .join("\n");
}

test("what was missed is read in the order of time, share by share, of one workspace, up to an event", () => {
  using temporary = temporaryDatabase();
  seed(temporary, 100);
  const store = openDeliveryStore(temporary.db);
  const seen: number[] = [];
  for (let after: { createdAt: number; id: number } | null = { createdAt: 1_003, id: 0 }; after !== null;) {
    const { missed, last } = store.listMissed(WEBHOOK, after, { upTo: 151, limit: 7 });
    expect(missed.length).toBeLessThanOrEqual(7);
    seen.push(...missed.map(({ id }) => id));
    after = last;
  }
  // Of 1_003 and later, the odd ids: 61, 63, … 151.
  expect(seen).toEqual(Array.from({ length: 46 }, (_, index) => 61 + 2 * index));
});

test("an event that a webhook got is not missed, one whose calls failed is", () => {
  using temporary = temporaryDatabase();
  seed(temporary, 3);
  const add = (event: number, column: string) =>
    temporary.db.sqlite.run(
      `INSERT INTO webhook_delivery (uid, webhook_id, event_id, event_uid, event_type, attempt, created_at, ${column}, duration_ms)
       VALUES ('d${event}', 7, ${event}, 'e', 'email.sent', 1, 0, 1, 0)`,
    );
  add(1, "delivered_at");
  add(3, "failed_at");
  const store = openDeliveryStore(temporary.db);
  const { missed } = store.listMissed(WEBHOOK, { createdAt: 0, id: 0 }, { upTo: 100, limit: 100 });
  expect(missed.map(({ id }) => id)).toEqual([3, 5]);
});

test("no read walks the events or the deliveries", () => {
  using temporary = temporaryDatabase();
  seed(temporary, 100);
  const store = openDeliveryStore(temporary.db);
  const statements: string[] = [];
  const { sqlite } = temporary.db;
  const { prepare } = sqlite;
  sqlite.prepare = ((sql: string, ...rest: never[]) => {
    statements.push(sql);
    return prepare.call(sqlite, sql, ...rest);
  }) as typeof prepare;
  using _all = prepareAtOnce();
  openDeliveryStore(temporary.db);
  sqlite.prepare = prepare;
  const plans = plansOf(temporary, statements);
  // But for the rows that a count has found.
  expect(plans.replaceAll(/^SCAN \(subquery-\d+\)$|^SCAN counted$/gm, "")).not.toContain("SCAN");
  // Both halves of the list, the list of one status, and its count.
  expect(plans.match(/USING COVERING INDEX webhook_delivery_newest \(webhook_id=\? AND <expr>=\?\)/g)).toHaveLength(4);
  expect(plans).toContain("webhook_delivery_of_event (webhook_id=? AND event_id=?)");
  expect(plans).not.toContain("TEMP B-TREE");
  for (const range of ["created_at>?", "created_at=? AND id>? AND id<?"])
    expect(plans).toContain(`USING INDEX event_since (workspace_id=? AND ${range})`);
  expect(store.listMissed(WEBHOOK, { createdAt: 0, id: 0 }, { upTo: 100, limit: 1 }).missed).toHaveLength(1);
});
