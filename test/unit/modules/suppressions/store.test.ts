import { describe, expect, test } from "bun:test";
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
    suppressions,
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

test("a page is read in the order of its index, from the cursor on, of one kind and of all", () => {
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
  const [all, ofKind] = ["suppression_newest", "suppression_newest_of_kind"].map(
    (index) => `SEARCH suppression USING INDEX ${index}`,
  );
  expect(plans).toEqual([
    [`${all} (workspace_id=? AND created_at=? AND id<?)`],
    [`${all} (workspace_id=? AND created_at<?)`],
    [`${ofKind} (workspace_id=? AND channel=? AND reason=? AND created_at=? AND id<?)`],
    [`${ofKind} (workspace_id=? AND channel=? AND reason=? AND created_at<?)`],
  ]);
  db.close();
});

test("the look-up goes by its index", () => {
  const db = openDatabase(":memory:");
  const plan = db.sqlite
    .query<{ detail: string }, []>(
      "EXPLAIN QUERY PLAN SELECT reason FROM suppression WHERE workspace_id = 1 AND channel = 'email' AND address = 'a' AND list = ''",
    )
    .all();
  expect(plan.map(({ detail }) => detail)).toEqual([
    "SEARCH suppression USING INDEX sqlite_autoindex_suppression_1 (workspace_id=? AND address=? AND channel=? AND list=?)",
  ]);
  db.close();
});

test("those of an address are found by the index of addresses, however many others a workspace has", () => {
  const db = openDatabase(":memory:");
  const prepared: string[] = [];
  const prepare = db.sqlite.prepare.bind(db.sqlite);
  db.sqlite.prepare = (text: string) => {
    prepared.push(text);
    return prepare(text);
  };
  const suppressions = openSuppressionStore(db, new Uint8Array(32));
  prepared.length = 0;
  expect(suppressions.listOfAddress({ workspaceId: 1, channel: "email", address: "maria@example.com" })).toEqual([]);
  const [text = "", ...others] = prepared;
  const values = Array.from(text.matchAll(/\?/g), () => 1);
  const plan = db.sqlite.query<{ detail: string }, number[]>(`EXPLAIN QUERY PLAN ${text}`).all(...values);
  expect([others, plan.map(({ detail }) => detail)]).toEqual([
    [],
    ["SEARCH suppression USING INDEX sqlite_autoindex_suppression_1 (workspace_id=? AND address=? AND channel=?)"],
  ]);
  db.close();
});

test("a page of an address, or of its beginning, reads those and no others, with each filter and a cursor", () => {
  const db = openDatabase(":memory:");
  const prepared: string[] = [];
  const prepare = db.sqlite.prepare.bind(db.sqlite);
  db.sqlite.prepare = (text: string) => {
    prepared.push(text);
    return prepare(text);
  };
  const suppressions = openSuppressionStore(db, new Uint8Array(32));
  const before = { createdAt: NOW, id: 7 };
  for (const kind of [{ channel: null, reason: null } as const, { channel: "email", reason: "manual" } as const]) {
    suppressions.list({ workspaceId: 1, ...kind, address: "maria@example.com", prefix: null }, before, 20);
    suppressions.list({ workspaceId: 1, ...kind, address: null, prefix: "maria" }, before, 20);
  }
  suppressions.isBroad(1, "maria");
  const plans = prepared.map((text) => {
    const values = Array.from(text.matchAll(/\?/g), () => 1);
    const rows = db.sqlite.query<{ detail: string }, number[]>(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    return rows.map(({ detail }) => detail).join("; ");
  });
  const addresses = "sqlite_autoindex_suppression_1 (workspace_id=? AND address";
  expect([...new Set(plans)].toSorted()).toEqual([
    `SEARCH suppression USING COVERING INDEX ${addresses}>? AND address<?)`,
    `SEARCH suppression USING INDEX ${addresses}=?); USE TEMP B-TREE FOR ORDER BY`,
    `SEARCH suppression USING INDEX ${addresses}>? AND address<?); USE TEMP B-TREE FOR ORDER BY`,
  ]);
  db.close();
});

describe("a list", () => {
  const ROW = { workspaceId: 1, channel: "email", address: "maria@example.com", createdAt: NOW } as const;

  test("is one thing, all mail and every other list are others", () => {
    using on = store();
    expect(on.suppressions.insert({ ...ROW, list: "news", reason: "unsubscribe" })).toBe(true);
    expect(on.suppressions.insert({ ...ROW, list: "news", reason: "manual" })).toBe(false);
    expect(on.reasonFor(1, ROW.address, "news")).toBe("unsubscribe");
    for (const list of [undefined, "", "offers", "News"]) expect(on.reasonFor(1, ROW.address, list)).toBeNull();
    expect(on.reasonFor(2, ROW.address, "news")).toBeNull();
    expect(on.suppressions.find(ROW)).toBeUndefined();
    expect(on.suppressions.hasComplained(1, ROW.address)).toBe(false);
  });

  test("a suppression of all mail holds for each list, and goes first", () => {
    using on = store();
    on.suppressions.insert({ ...ROW, list: "news", reason: "unsubscribe" });
    on.suppressions.insert({ ...ROW, reason: "complaint" });
    for (const list of [undefined, "news", "offers"]) expect(on.reasonFor(1, ROW.address, list)).toBe("complaint");
    expect(on.rows()).toHaveLength(2);
  });

  test("is lifted by its name only", () => {
    using on = store();
    for (const list of ["news", "offers", ""]) on.suppressions.insert({ ...ROW, list, reason: "manual" });
    const changes: unknown[] = [];
    on.suppressions.followChanges(({ type, row }) => void changes.push([type, row.list]));
    expect(on.suppressions.delete({ ...ROW, channel: null })).toBe(true);
    expect(on.suppressions.delete({ ...ROW, channel: null })).toBe(false);
    expect(on.suppressions.delete({ ...ROW, channel: "email", list: "news" })).toBe(true);
    expect(on.suppressions.listOfAddress(ROW).map(({ list }) => list)).toEqual(["offers"]);
    expect(changes).toEqual([
      ["suppression.deleted", ""],
      ["suppression.deleted", "news"],
    ]);
  });

  test("holds when its address was erased, and is found with all others of the address", () => {
    using on = store();
    for (const list of ["news", "offers", ""]) on.suppressions.insert({ ...ROW, list, reason: "unsubscribe" });
    on.suppressions.insert({ ...ROW, address: "joao@example.com", reason: "manual" });
    expect(on.suppressions.erase(ROW)).toBe(3);
    expect(on.rows().filter(({ address }) => address.includes("maria"))).toEqual([]);
    expect(on.suppressions.listOfAddress(ROW).map(({ list, isErased }) => [list, isErased])).toEqual([
      ["", true],
      ["offers", true],
      ["news", true],
    ]);
    expect(on.suppressions.insert({ ...ROW, list: "news", reason: "unsubscribe" })).toBe(false);
    expect(on.suppressions.delete({ ...ROW, channel: null, list: "news" })).toBe(true);
    expect([on.reasonFor(1, ROW.address, "news"), on.suppressions.delete({ ...ROW, channel: null })]).toEqual([
      "unsubscribe",
      true,
    ]);
    expect(on.reasonFor(1, ROW.address, "news")).toBeNull();
  });
});
