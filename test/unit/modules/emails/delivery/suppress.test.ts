import { expect, test } from "bun:test";
import { openDatabase } from "../../../../../src/platform/db/open.ts";
import { RefusalWatch } from "../../../../../src/modules/emails/delivery/refusal-watch.ts";
import { suppressFor } from "../../../../../src/modules/emails/delivery/suppress.ts";
import type { Log, LogFields } from "../../../../../src/platform/log.ts";
import { openSuppressionStore } from "../../../../../src/modules/suppressions/store.ts";

const NOW = Date.UTC(2026, 10, 21);
const SITE = "mx.example.com";

function scene() {
  const db = openDatabase(":memory:");
  const events: LogFields[] = [];
  const log: Log = { event: (_, fields = {}) => void events.push(fields), error: () => undefined };
  const parts = { suppressions: openSuppressionStore(db, new Uint8Array(32)), refusals: new RefusalWatch(), log };
  const addressesIn = (table: string) =>
    db.sqlite
      .query<{ address: string }, []>(`SELECT address FROM ${table} ORDER BY address`)
      .all()
      .map(({ address }) => address);
  return {
    refuse: (address: string) => suppressFor({ site: SITE, recipient: { workspaceId: 1, address }, now: NOW }, parts),
    /** Nineteen of them are no mass yet. */
    refuseMany(count: number) {
      for (let n = 0; n < count; n++) {
        const one = this.refuse(`user${n}@example.com`);
        one.write();
        one.log();
      }
    },
    events,
    suppressed: () => addressesIn("suppression"),
    held: () => addressesIn("suppression_held"),
    /** A transaction that is not kept. */
    undone(work: () => void) {
      db.sqlite.run("BEGIN");
      work();
      db.sqlite.run("ROLLBACK");
    },
    [Symbol.dispose]: () => db.close(),
  };
}

test("one that could not be written before the mass showed is held with the others when it is written after", () => {
  using on = scene();
  on.refuseMany(18);
  const early = on.refuse("early@example.com");
  on.undone(() => early.write());
  const late = on.refuse("late@example.com");
  late.write();
  late.log();
  expect(on.suppressed()).toEqual([]);
  expect(on.held()).toHaveLength(19);
  early.write();
  early.log();
  expect(on.suppressed()).toEqual([]);
  expect(on.held()).toContain("early@example.com");
  expect(on.held()).toHaveLength(20);
  expect(on.events.map(({ count }) => count)).toEqual([19, 1]);
});

test("what the first of a mass took back and could not keep is taken back when it is written again", () => {
  using on = scene();
  on.refuseMany(19);
  expect(on.suppressed()).toHaveLength(19);
  const twentieth = on.refuse("twentieth@example.com");
  on.undone(() => twentieth.write());
  expect(on.suppressed()).toHaveLength(19);
  twentieth.write();
  twentieth.log();
  expect([on.suppressed(), on.held().length]).toEqual([[], 20]);
});

test("the first of a mass whose email was canceled meanwhile leaves the taking back to the next", () => {
  using on = scene();
  on.refuseMany(19);
  // Never written: the row was taken from its attempt.
  on.refuse("canceled@example.com").log();
  expect([on.suppressed().length, on.events]).toEqual([19, []]);
  const next = on.refuse("next@example.com");
  next.write();
  next.log();
  expect([on.suppressed(), on.held().length]).toEqual([[], 20]);
});

test("two of a mass in one transaction hold each recipient once", () => {
  using on = scene();
  on.refuseMany(19);
  const [first, second] = [on.refuse("a@example.com"), on.refuse("b@example.com")];
  first.write();
  second.write();
  first.log();
  second.log();
  expect([on.suppressed(), on.held().length]).toEqual([[], 21]);
  expect(on.events.map(({ count }) => count)).toEqual([20, 1]);
});
