import { expect, test } from "bun:test";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { prepareAtOnce } from "../../../../src/platform/db/statement.ts";
import type { Reason } from "../../../../src/modules/suppressions/address.ts";
import { openSuppressionStore } from "../../../../src/modules/suppressions/store.ts";

const NOW = Date.UTC(2026, 10, 21);

function store() {
  const db = openDatabase(":memory:");
  const suppressions = openSuppressionStore(db, new Uint8Array(32));
  return {
    reasonFor: suppressions.reasonFor,
    suppress: (
      workspaceId: number,
      address: string,
      reason: Reason = "hard_bounce",
      channel: "email" | "sms" = "email",
    ) => suppressions.insert({ workspaceId, channel, address, reason, createdAt: NOW }),
    rows: () =>
      db.sqlite.query<{ address: string; reason: string }, []>("SELECT address, reason FROM suppression").all(),
    [Symbol.dispose]: () => db.close(),
  };
}

test("an address that is not suppressed has no reason", () => {
  using on = store();
  expect(on.reasonFor(1, "maria@example.com")).toBeNull();
});

test("a suppressed address is found with its reason", () => {
  using on = store();
  on.suppress(1, "maria@example.com", "complaint");
  expect(on.reasonFor(1, "maria@example.com")).toBe("complaint");
  expect(on.reasonFor(1, "joao@example.com")).toBeNull();
});

test("a suppression is one workspace's own", () => {
  using on = store();
  on.suppress(1, "maria@example.com");
  expect(on.reasonFor(2, "maria@example.com")).toBeNull();
});

test("a number that gets no texts is no address that gets no mail", () => {
  using on = store();
  on.suppress(1, "+351912345678", "opt_out", "sms");
  expect(on.reasonFor(1, "+351912345678")).toBeNull();
});

test("the first reason stays, and there is one row", () => {
  using on = store();
  on.suppress(1, "maria@example.com", "complaint");
  on.suppress(1, "maria@example.com", "hard_bounce");
  expect(on.rows()).toEqual([{ address: "maria@example.com", reason: "complaint" }]);
});

test("a page is read in the order of its index, from the cursor on, with a channel and without", () => {
  const db = openDatabase(":memory:");
  const prepared: string[] = [];
  const prepare = db.sqlite.prepare.bind(db.sqlite);
  db.sqlite.prepare = (text: string) => {
    prepared.push(text);
    return prepare(text);
  };
  using _all = prepareAtOnce();
  openSuppressionStore(db, new Uint8Array(32));
  const pages = prepared.filter((text) => text.includes("order by"));
  const plans = pages.map((text) => {
    const values = Array.from(text.matchAll(/\?/g), () => 1);
    const rows = db.sqlite.query<{ detail: string }, number[]>(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    return rows.map(({ detail }) => detail);
  });
  const [all, ofChannel] = ["suppression_newest", "suppression_newest_of_channel"].map(
    (index) => `SEARCH suppression USING INDEX ${index}`,
  );
  expect(plans).toEqual([
    [`${all} (workspace_id=? AND created_at=? AND id<?)`],
    [`${all} (workspace_id=? AND created_at<?)`],
    [`${ofChannel} (workspace_id=? AND channel=? AND created_at=? AND id<?)`],
    [`${ofChannel} (workspace_id=? AND channel=? AND created_at<?)`],
  ]);
  db.close();
});

test("the look-up goes by its index", () => {
  const db = openDatabase(":memory:");
  const plan = db.sqlite
    .query<{ detail: string }, []>(
      "EXPLAIN QUERY PLAN SELECT reason FROM suppression WHERE workspace_id = 1 AND channel = 'email' AND address = 'a'",
    )
    .all();
  expect(plan.map(({ detail }) => detail)).toEqual([
    "SEARCH suppression USING INDEX sqlite_autoindex_suppression_1 (workspace_id=? AND address=? AND channel=?)",
  ]);
  db.close();
});
