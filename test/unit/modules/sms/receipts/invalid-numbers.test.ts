import { expect, test } from "bun:test";
import { RefusalWatch } from "../../../../../src/modules/emails/delivery/refusal-watch.ts";
import { InvalidNumbers } from "../../../../../src/modules/sms/receipts/invalid-numbers.ts";
import { openHeldStore } from "../../../../../src/modules/suppressions/held-store.ts";
import { openSuppressionStore } from "../../../../../src/modules/suppressions/store.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { addWorkspace, openLedger } from "../../../../support/sms/rows.ts";

const MINUTE = 60_000;
const ROUTE = "vodacom";
const number = (nth: number) => `+25884${String(nth).padStart(7, "0")}`;

async function start() {
  const of = temporaryDatabase();
  const suppressions = openSuppressionStore(of.db, new Uint8Array(32));
  const held = openHeldStore(of.db);
  const ledger = openLedger(of.db);
  const { commit } = of.committer;
  const gone = new Set<number>();
  const told: unknown[] = [];
  const numbers = new InvalidNumbers({
    refusals: new RefusalWatch(),
    suppressions,
    isThere: (id) => !gone.has(id),
    commit,
    log: { event: (name, fields) => void told.push([name, fields]), error: (_, error) => void told.push(error) },
  });
  const [shop = 0, bank = 0] = await Promise.all([1, 2].map(() => commit(() => addWorkspace(ledger, 1))));
  return {
    shop,
    bank,
    gone,
    told,
    /** Receipts of one transaction, for the numbers from `first` on. */
    async hear(workspaceId: number, count: number, { first = 0, isInvalid = true, at = MINUTE, route = ROUTE } = {}) {
      for (let nth = first; nth < first + count; nth += 1)
        numbers.note({ route, workspaceId, address: number(nth), isInvalid, at });
      await commit(() => undefined);
      await commit(() => undefined);
    },
    suppressed: (workspaceId: number) =>
      suppressions
        .list({ workspaceId, channel: null, reason: null, address: null, prefix: null }, null, 1_000)
        .map(({ address, channel, reason }) => {
          expect([channel, reason]).toEqual(["sms", "invalid_number"]);
          return address;
        }),
    held: () => held.between(0, held.lastId(), 1_000),
    [Symbol.dispose]: () => of[Symbol.dispose](),
  };
}

test("a number that nobody has is suppressed for the workspace that texted it, and for no other", async () => {
  using world = await start();
  await world.hear(world.shop, 1);
  expect([world.suppressed(world.shop), world.suppressed(world.bank), world.told]).toEqual([[number(0)], [], []]);
  await world.hear(world.shop, 1, { isInvalid: false, first: 5 });
  expect(world.suppressed(world.shop)).toEqual([number(0)]);
});

test("twenty in ten minutes and over half of a route's last words: nobody is suppressed, those before neither, and it is told", async () => {
  using world = await start();
  await world.hear(world.shop, 19);
  expect(world.suppressed(world.shop)).toHaveLength(19);
  await world.hear(world.shop, 1, { first: 19 });
  expect(world.suppressed(world.shop)).toEqual([]);
  expect(world.held()).toHaveLength(20);
  expect(world.held()[0]).toMatchObject({ channel: "sms", reason: "invalid_number", site: "sms:vodacom" });
  expect(world.told).toMatchObject([["suppressions.held", { site: "sms:vodacom", count: 20 }]]);
  // All of one transaction are counted before any is decided on.
  await world.hear(world.bank, 40, { route: "other" });
  expect(world.suppressed(world.bank)).toEqual([]);
  // Ten minutes later it is over.
  await world.hear(world.shop, 1, { first: 50, at: 12 * MINUTE });
  expect(world.suppressed(world.shop)).toEqual([number(50)]);
});

test("twenty among forty that arrived are twenty numbers", async () => {
  using world = await start();
  await world.hear(world.shop, 20, { isInvalid: false, first: 100 });
  await world.hear(world.shop, 20);
  expect(world.suppressed(world.shop)).toHaveLength(20);
});

test("a mass of one workspace touches nobody else's numbers", async () => {
  using world = await start();
  await world.hear(world.bank, 1, { first: 7 });
  await world.hear(world.shop, 30);
  await world.hear(world.bank, 1, { first: 8 });
  expect(world.suppressed(world.bank).toSorted()).toEqual([number(7), number(8)]);
  expect(world.held().every(({ workspaceId }) => workspaceId === world.shop)).toBe(true);
});

test("of a deleted workspace nothing is written", async () => {
  using world = await start();
  world.gone.add(world.shop);
  await world.hear(world.shop, 25);
  expect([world.suppressed(world.shop), world.held(), world.told]).toEqual([[], [], []]);
});
