import { expect, test } from "bun:test";
import type { Plan } from "../../../../src/config/config.ts";
import { createUsedUpScan } from "../../../../src/modules/plans/used-up.ts";

const PLAN = { emailsPerDay: 10, emailsPerMonth: 100 } as Plan;

function start(count: number, used: Map<number, number>, plan: Plan = PLAN) {
  return createUsedUpScan({
    workspaces: {
      listIds: () => Array.from({ length: count }, (_, nth) => nth + 1),
      byId: (id) => ({ uid: `u${id}`, name: `W${id}` }),
    },
    usage: { ofDay: (id) => used.get(id) ?? 0, ofMonth: (id) => used.get(id) ?? 0 },
    findNamedPlan: () => ({ name: "small", plan }),
    clock: { now: () => 0 },
  });
}

test("all of a thousand workspaces are looked at within four looks, and those that are used up at each", () => {
  const used = new Map([
    [3, 10],
    [999, 100],
  ]);
  const scan = start(1_000, used);
  const looks = Array.from({ length: 5 }, () => scan.look().map(({ uid, period }) => `${uid} ${period}`));
  expect(looks[0]).toEqual(["u3 day"]);
  expect(looks[3]).toEqual(["u999 month", "u3 day"]);
  expect(looks[4]?.toSorted()).toEqual(["u3 day", "u999 month"]);
  used.clear();
  expect(scan.look()).toEqual([]);
});

test("one that has just reached its quota is looked at next", () => {
  const used = new Map([[900, 10]]);
  const scan = start(1_000, used);
  expect(scan.look()).toEqual([]);
  scan.note(900);
  expect(scan.look()).toMatchObject([{ uid: "u900", period: "day", limit: 10 }]);
});

test("a plan without limits is never used up", () => {
  const used = new Map([[1, 1_000_000]]);
  expect(start(1, used, { ...PLAN, emailsPerDay: -1, emailsPerMonth: -1 }).look()).toEqual([]);
});
