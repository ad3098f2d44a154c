import { expect, test } from "bun:test";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { openSuppressionStore } from "../../../../src/modules/suppressions/store.ts";

const MARIA = { workspaceId: 1, channel: "email", address: "maria@example.com" } as const;

function scene() {
  const db = openDatabase(":memory:");
  const open = (key = 7) => openSuppressionStore(db, new Uint8Array(32).fill(key));
  const suppressions = open();
  suppressions.insert({ ...MARIA, reason: "complaint", createdAt: 1 });
  const rows = () => db.sqlite.query<{ address: string }, []>("SELECT address FROM suppression ORDER BY id").all();
  return { db, open, suppressions, rows, [Symbol.dispose]: () => db.close() };
}

test("an erased suppression is found by its address, by every later opening with the same key, and by no other", () => {
  using on = scene();
  expect(on.suppressions.erase(MARIA)).toBe(1);
  expect(on.suppressions.erase(MARIA)).toBe(0);
  expect(JSON.stringify(on.rows())).not.toContain("maria");
  for (const suppressions of [on.suppressions, on.open()]) {
    expect(suppressions.reasonFor(1, MARIA.address)).toBe("complaint");
    expect(suppressions.reasonForNumber(1, MARIA.address)).toBeNull();
    expect(suppressions.reasonFor(2, MARIA.address)).toBeNull();
    expect(suppressions.reasonFor(1, "maria@example.org")).toBeNull();
    expect(suppressions.hasComplained(1, MARIA.address)).toBe(true);
    expect(suppressions.find(MARIA)).toMatchObject({ reason: "complaint", isErased: true });
  }
  expect(on.open(8).reasonFor(1, MARIA.address)).toBeNull();
});

test("the hash of one person is another in each workspace and channel", () => {
  using on = scene();
  on.suppressions.insert({ ...MARIA, workspaceId: 2, reason: "manual", createdAt: 2 });
  on.suppressions.insert({ ...MARIA, channel: "sms", reason: "manual", createdAt: 2 });
  for (const workspaceId of [1, 2]) on.suppressions.erase({ ...MARIA, workspaceId });
  expect(new Set(on.rows().map(({ address }) => address)).size).toBe(3);
});

test("it is not made again in clear, and is lifted by its address, on its channel only", () => {
  using on = scene();
  on.suppressions.erase(MARIA);
  expect(on.suppressions.insert({ ...MARIA, reason: "manual", createdAt: 2 })).toBe(false);
  expect(on.rows()).toHaveLength(1);
  // A refusal in masses takes plain ones back: this one's address it must not bring back.
  expect(on.suppressions.takeBack({ ...MARIA, reason: "complaint" })).toBe(false);
  expect(on.suppressions.delete({ ...MARIA, channel: "sms" })).toBe(false);
  expect(on.suppressions.delete({ ...MARIA, channel: null })).toBe(true);
  expect([on.rows(), on.suppressions.reasonFor(1, MARIA.address)]).toEqual([[], null]);
});

test("what is held for the operator is let go of, in this workspace only", () => {
  using on = scene();
  const held = {
    channel: "email",
    address: "ana@example.com",
    reason: "hard_bounce",
    site: "x",
    createdAt: 1,
  } as const;
  for (const workspaceId of [1, 2]) on.suppressions.hold({ ...held, workspaceId });
  expect(on.suppressions.erase({ workspaceId: 1, address: held.address })).toBe(1);
  const left = on.db.sqlite.query("SELECT workspace_id FROM suppression_held").all();
  expect(left).toEqual([{ workspace_id: 2 }]);
});

test("where nobody was erased, one statement finds that an address is not suppressed", () => {
  using on = scene();
  on.suppressions.insert({ ...MARIA, workspaceId: 2, reason: "manual", createdAt: 1 });
  on.suppressions.erase({ ...MARIA, workspaceId: 2 });
  const plan = on.db.sqlite
    .query<{ detail: string }, []>(
      "EXPLAIN QUERY PLAN SELECT DISTINCT workspace_id FROM suppression WHERE is_erased = 1",
    )
    .all();
  expect(plan.map(({ detail }) => detail).join()).toContain("suppression_erased");
  expect(on.suppressions.reasonFor(1, "nobody@example.com")).toBeNull();
});
