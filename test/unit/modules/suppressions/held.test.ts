import { expect, test } from "bun:test";
import { applyHeld, dropHeld, type HeldDeps } from "../../../../src/modules/suppressions/held-actions.ts";
import { openHeldStore } from "../../../../src/modules/suppressions/held-store.ts";
import { openSuppressionStore } from "../../../../src/modules/suppressions/store.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const EVERYONE = { workspace: null, site: null };
const workspace = (id: number) => ({ id, uid: `workspace ${id}` });

function scene(count: number, commitOf: (commit: HeldDeps["commit"]) => HeldDeps["commit"] = (commit) => commit) {
  const of = temporaryDatabase();
  const { db, committer } = of;
  const suppressions = openSuppressionStore(db, new Uint8Array(32));
  const hold = (number: number, workspaceId = 1 + (number % 3)) =>
    suppressions.hold({
      ...{ workspaceId, channel: "email", address: `user${number}@example.com` },
      ...{ reason: "hard_bounce", site: number % 10 === 0 ? "rare" : "usual", createdAt: 1 },
    });
  db.sqlite.run(
    "INSERT INTO workspace (id, uid, name, plan, created_at, deleted_at) VALUES (1, 'a', 'a', 'scale', 0, NULL), (2, 'b', 'b', 'scale', 0, NULL), (3, 'c', 'c', 'scale', 0, NULL), (4, 'd', 'd', 'scale', 0, 1)",
  );
  db.sqlite.transaction(() => {
    for (let number = 0; number < count; number++) hold(number);
  })();
  const log = { event: () => undefined, error: () => undefined };
  const parts: HeldDeps = {
    ...{ suppressions, held: openHeldStore(db), clock: fakeClock(), log },
    commit: commitOf(committer.commit),
  };
  const countForWorkspace = (table: string) =>
    db.sqlite.query<{ count: number }, []>(`SELECT COUNT(*) AS count FROM ${table}`).get()?.count ?? 0;
  return {
    parts,
    hold,
    held: () => countForWorkspace("suppression_held"),
    suppressed: () => countForWorkspace("suppression"),
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

test("many rows are applied in shares, a bounded number in each transaction", async () => {
  const sizes: number[] = [];
  using on = scene(2_000, (commit) => (work) => {
    const before = on.held();
    return commit(work).finally(() => sizes.push(before - on.held()));
  });
  expect(await applyHeld(EVERYONE, on.parts)).toBe(2_000);
  expect([on.held(), on.suppressed()]).toEqual([0, 2_000]);
  expect(sizes.length).toBeGreaterThan(4);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(500);
});

for (const verb of ["applied", "dropped"] as const) {
  test(`broken off between two shares, what is being ${verb} is not lost, and the same call does the rest`, async () => {
    for (const lasts of [0, 1, 4, 99]) {
      let left: number | null = lasts;
      using on = scene(1_500, (commit) => (work) => {
        if (left !== null && left-- === 0) return Promise.reject(new Error("the process ends here"));
        return commit(work);
      });
      const run = () => (verb === "applied" ? applyHeld(EVERYONE, on.parts) : dropHeld(EVERYONE, on.parts));
      const first = await run().catch(() => null);
      left = null;
      expect(on.held() + (verb === "applied" ? on.suppressed() : 1_500 - on.held())).toBe(1_500);
      // What could not be done is done now, and once more does no harm.
      const rest = on.held();
      if (first === null) expect(await run()).toBe(rest);
      expect([await run(), on.held(), on.suppressed()]).toEqual([0, 0, verb === "applied" ? 1_500 : 0]);
    }
  });
}

test("few among many are found: of one workspace, of one site", async () => {
  using on = scene(1_000);
  expect(await applyHeld({ workspace: workspace(2), site: "rare" }, on.parts)).toBe(33);
  expect(await dropHeld({ workspace: null, site: "rare" }, on.parts)).toBe(67);
  expect(await applyHeld({ workspace: workspace(3), site: null }, on.parts)).toBe(300);
  expect([on.held(), on.suppressed()]).toEqual([600, 333]);
});

test("what is held while shares are being applied waits for the next call", async () => {
  let next = 1_000;
  using on = scene(1_000, (commit) => (work) => {
    on.hold(next++);
    return commit(work);
  });
  expect(await applyHeld(EVERYONE, on.parts)).toBe(1_000);
  expect(on.held()).toBe(next - 1_000);
});

test("what is held of a deleted workspace is left to its removal", async () => {
  using on = scene(100);
  for (let number = 0; number < 10; number++) on.hold(number, 4);
  expect(await applyHeld(EVERYONE, on.parts)).toBe(100);
  expect([on.held(), on.suppressed()]).toEqual([10, 100]);
});
