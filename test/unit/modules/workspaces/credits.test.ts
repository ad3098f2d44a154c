import { describe, expect, test } from "bun:test";
import { openCreditStore, changeCredits } from "../../../../src/modules/workspaces/credit-store.ts";
import { openWorkspaceStore } from "../../../../src/modules/workspaces/store.ts";
import { seeded, temporaryDatabase, turn } from "../../../support/db/temporary.ts";

const WORKSPACES = 3;

function start() {
  const of = temporaryDatabase();
  const workspaces = openWorkspaceStore(of.db);
  const credits = openCreditStore(of.db);
  const ids = Array.from(
    { length: WORKSPACES },
    (_, index) => workspaces.insert({ uid: `w${index}`, name: "x", plan: "launch", createdAt: 0 }).id,
  );
  /** Read beside the stores. */
  const sumOf = (id: number) =>
    of.db.sqlite
      .query<{ sum: number }, [number]>("SELECT COALESCE(SUM(amount), 0) AS sum FROM sms_credit WHERE workspace_id = ?")
      .get(id)?.sum;
  const kept = (id: number) =>
    of.db.sqlite.query<{ sms_credits: number }, [number]>("SELECT sms_credits FROM workspace WHERE id = ?").get(id)
      ?.sms_credits;
  return { of, workspaces, credits, ids, sumOf, kept, [Symbol.dispose]: () => of[Symbol.dispose]() };
}

const entry = (workspaceId: number, amount: number) => {
  const kind = amount > 0 ? ("grant" as const) : ("reservation" as const);
  return { workspaceId, kind, amount, note: null, createdAt: 0 };
};

describe("random histories", () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`a balance is the sum of its entries, as everybody reads it, and never below 0 (seed ${seed})`, async () => {
      using on = start();
      const random = seeded(seed);
      const draw = (below: number) => Math.floor(random() * below);
      /** What was answered, and so must be there. */
      const expected = new Map(on.ids.map((id) => [id, 0]));
      const seen = { refused: 0, undone: 0, lost: 0, kept: 0 };
      for (let step = 0; step < 300; step++) {
        const id = on.ids[draw(WORKSPACES)] ?? 0;
        const amounts = Array.from({ length: 1 + draw(3) }, () => draw(41) - 20).filter((amount) => amount !== 0);
        const fate = draw(20);
        const change = () => {
          const results = amounts.map((amount) => changeCredits(entry(id, amount), on));
          // Read in the middle: nobody may remember what is then rolled back.
          if (draw(2) === 0) on.workspaces.byId(id);
          if (fate === 0) throw new Error("rolled back");
          if (fate === 1) on.of.db.sqlite.run("ROLLBACK"); // as a full disk ends the whole transaction
          if (fate === 1) throw new Error("gone");
          return results;
        };
        void on.of.committer.commit(change).then(
          (results) => {
            for (const [index, amount] of amounts.entries()) {
              if (results[index] === null) seen.refused += 1;
              else expected.set(id, (expected.get(id) ?? 0) + amount);
            }
            seen.kept += 1;
          },
          (error: unknown) => {
            seen[error instanceof Error && error.message === "rolled back" ? "undone" : "lost"] += 1;
          },
        );
        if (draw(4) === 0) await turn(2);
        if (draw(4) === 0) on.workspaces.byId(id);
      }
      await turn(3);
      for (const id of on.ids) {
        const balance = on.workspaces.byId(id)?.smsCredits;
        expect([balance, on.kept(id), on.sumOf(id)]).toEqual([expected.get(id), expected.get(id), expected.get(id)]);
        expect(balance).toBeGreaterThanOrEqual(0);
      }
      expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
    });
  }
});

test("what would fall below 0 writes nothing, and down to 0 is allowed", async () => {
  using on = start();
  const [id = 0] = on.ids;
  const change = (amount: number) => on.of.committer.commit(() => changeCredits(entry(id, amount), on));
  expect([await change(5), await change(-6), await change(-5), await change(-1)]).toEqual([5, null, 0, null]);
  expect([on.kept(id), on.sumOf(id), on.credits.list(id, null, 10).length]).toEqual([0, 0, 2]);
  // Nobody's credits change.
  expect(await on.of.committer.commit(() => changeCredits(entry(999, 5), on))).toBeNull();
  expect(on.sumOf(999)).toBe(0);
});
