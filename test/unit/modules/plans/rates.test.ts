import { describe, expect, test } from "bun:test";
import { usage } from "../../../../src/platform/db/schema/schema.ts";
import { classifyRates, windowAt } from "../../../../src/modules/plans/sending-block.ts";
import { seeded } from "../../../support/db/temporary.ts";
import { DAY_MS, NOON, startCounting } from "./counting.ts";

const sums = (answered: number, hard_bounces: number, complaints = 0) => ({ answered, hard_bounces, complaints });

describe("the rates of a window", () => {
  test.each([
    ["nothing", sums(0, 0), "well"],
    ["9 of 9", sums(9, 9), "well"],
    ["10 of 251, 3.98 %", sums(251, 10), "well"],
    ["10 of 250, 4 %", sums(250, 10), "warning"],
    ["19 of 19", sums(19, 19), "warning"],
    ["19 of 100", sums(100, 19), "warning"],
    ["20 of 251, 7.97 %", sums(251, 20), "warning"],
    ["20 of 250, 8 %", sums(250, 20), "blocked"],
    ["20 of 20", sums(20, 20), "blocked"],
    ["20,000 of 250,001", sums(250_001, 20_000), "warning"],
    ["20,000 of 250,000", sums(250_000, 20_000), "blocked"],
    ["2 complaints of 2", sums(2, 0, 2), "well"],
    ["3 complaints of 2,001", sums(2_001, 0, 3), "well"],
    ["3 complaints of 2,000, 0.15 %", sums(2_000, 0, 3), "warning"],
    ["4 complaints of 4", sums(4, 0, 4), "warning"],
    ["5 complaints of 1,667", sums(1_667, 0, 5), "warning"],
    ["5 complaints of 1,666, 0.3 %", sums(1_666, 0, 5), "blocked"],
    ["3,000 complaints of a million", sums(1_000_000, 0, 3_000), "blocked"],
    ["2,999 complaints of a million", sums(1_000_000, 0, 2_999), "warning"],
    ["complaints about nothing that counts", sums(0, 0, 100), "well"],
  ] as const)("%s", (_, found, kind) => {
    expect(classifyRates(found).kind).toBe(kind);
  });

  test("are told with their figures", () => {
    expect(classifyRates(sums(210, 23))).toEqual({
      kind: "blocked",
      reason: "23 of 210 emails answered in the last 7 days bounced hard (11.0 %; the limit is 8 %)",
    });
    expect(classifyRates(sums(12_000, 500, 20))).toEqual({
      kind: "warning",
      reason:
        "500 of 12,000 emails answered in the last 7 days bounced hard (4.2 %; the limit is 8 %); " +
        "20 of 12,000 emails answered in the last 7 days were complained about (0.17 %; the limit is 0.3 %)",
    });
    // What has reached the limit is the reason, and not what is on the way there.
    expect(classifyRates(sums(1_000, 50, 5))).toEqual({
      kind: "blocked",
      reason: "5 of 1,000 emails answered in the last 7 days were complained about (0.50 %; the limit is 0.3 %)",
    });
  });

  test.each([
    [NOON, "2026-11-15", "2026-11-21"],
    [Date.UTC(2026, 10, 21), "2026-11-15", "2026-11-21"],
    [Date.UTC(2026, 10, 21, 23, 59, 59, 999), "2026-11-15", "2026-11-21"],
    [Date.UTC(2028, 2, 2), "2028-02-25", "2028-03-02"],
    [Date.UTC(2027, 0, 3), "2026-12-28", "2027-01-03"],
  ])("are those of today and the six days before (%d)", (now, first, last) => {
    expect(windowAt(now)).toEqual({ first, last });
  });
});

describe("sending", () => {
  test("is blocked in the transaction in which its bounces become too many, and says so once", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    expect(on.workspaces.byId(id)?.rateBlockedAt).toBeNull();
    await on.count(id, 230, 19);
    expect([on.block(id), on.names()]).toEqual([null, ["workspace.sending_warning"]]);
    await on.count(id, 2, 0);
    await on.count(id, 0, 1);
    // 20 of 252, 7.9 %.
    expect(on.block(id)).toBeNull();
    await on.count(id, 0, 1);
    expect(on.block(id)).toBe("21 of 253 emails answered in the last 7 days bounced hard (8.3 %; the limit is 8 %)");
    // The remembered row is not the one from before.
    expect(on.workspaces.byId(id)).toMatchObject({ rateBlockedAt: NOON, rateBlockReason: on.block(id) });
    const reason = on.block(id);
    await on.count(id, 0, 50);
    expect(on.block(id)).toBe(reason);
    expect(on.told).toEqual([
      { name: "workspace.sending_warning", fields: { workspace: "one", reason: expect.stringContaining("19 of 249") } },
      { name: "workspace.sending_blocked", fields: { workspace: "one", reason } },
    ]);
    expect(on.notices).toEqual([
      { kind: "warning", reason: expect.stringContaining("19 of 249") },
      { kind: "blocked", reason: on.block(id) ?? "" },
    ]);
  });

  test("costs one row a counter and transaction, however many the outcomes", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    await on.count(id, 300, 5);
    expect(on.counters().map(({ name, day, count }) => [name, day, count])).toEqual([
      ["answered", "2026-11-21", 305],
      ["hard_bounces", "2026-11-21", 5],
    ]);
  });

  test("is warned about once a day while it stays above half of the limit", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    await on.count(id, 200, 12);
    await on.count(id, 1, 1);
    expect(on.names()).toEqual(["workspace.sending_warning"]);
    on.clock.advance(12 * 60 * 60 * 1000 - 1);
    await on.count(id, 1, 0);
    expect(on.names()).toHaveLength(1);
    on.clock.advance(1);
    await on.count(id, 1, 0);
    await on.count(id, 1, 0);
    expect(on.names()).toEqual(["workspace.sending_warning", "workspace.sending_warning"]);
    await on.count(id, 1_000, 0);
    on.clock.advance(DAY_MS);
    await on.count(id, 1, 0);
    expect(on.names()).toHaveLength(2);
  });

  test("is judged by seven days: what is older does not count, for it nor against it", async () => {
    using on = startCounting();
    const [bad, good] = [await on.newWorkspace("bad"), await on.newWorkspace("good")];
    await on.count(bad, 0, 19);
    await on.count(good, 1_000, 19);
    on.clock.advance(6 * DAY_MS);
    await on.count(good, 0, 1);
    expect(on.block(good)).toBeNull();
    on.clock.advance(DAY_MS);
    // The nineteen are gone; and so are the thousand.
    await on.count(bad, 0, 19);
    expect(on.block(bad)).toBeNull();
    await on.count(good, 0, 18);
    expect(on.block(good)).toBeNull();
    await on.count(good, 0, 1);
    expect(on.block(good)).toContain("20 of 20 emails");
  });

  test("is each workspace's own, many in one transaction", async () => {
    using on = startCounting();
    const random = seeded(7);
    const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => on.newWorkspace(`w${n}`)));
    const plan = ids.map((id) => ({
      id,
      delivered: Math.floor(random() * 300),
      hard: Math.floor(random() * 30),
    }));
    await Promise.all(plan.map(({ id, delivered, hard }) => on.count(id, delivered, hard)));
    for (const { id, delivered, hard } of plan) {
      const [answered] = on.counters().filter((row) => row.workspaceId === id && row.name === "answered");
      expect([id, answered?.count ?? 0]).toEqual([id, delivered + hard]);
      if (hard >= 20 && hard / (delivered + hard) >= 0.08) expect([id, on.block(id)]).toEqual([id, expect.any(String)]);
      if (hard < 20) expect([id, on.block(id)]).toEqual([id, null]);
    }
    const blocked = ids.filter((id) => on.block(id) !== null);
    expect(on.names().filter((name) => name === "workspace.sending_blocked")).toHaveLength(blocked.length);
    expect([blocked.length > 3, blocked.length < 37]).toEqual([true, true]);
  });

  test("keeps counters and block together: a transaction that fails takes both, and nobody is told", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    await on.count(id, 0, 9);
    on.break(true);
    expect((await Promise.allSettled([on.count(id, 0, 30)]))[0].status).toBe("rejected");
    on.break(false);
    expect([on.block(id), on.workspaces.byId(id)?.rateBlockedAt, on.names()]).toEqual([null, null, []]);
    expect(on.counters().map(({ name, count }) => [name, count])).toEqual([
      ["answered", 9],
      ["hard_bounces", 9],
    ]);
    await on.count(id, 0, 11);
    expect(on.block(id)).toContain("20 of 20");
    expect(on.names()).toEqual(["workspace.sending_blocked"]);
  });

  test("is not judged by a closure that was rolled back", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    const refused = on.commit(() => {
      for (let n = 0; n < 30; n++) on.rates.answered(id, true);
      throw new Error("refused");
    });
    await Promise.allSettled([refused, on.count(id, 1, 0)]);
    expect([on.block(id), on.counters().length]).toEqual([null, 1]);
  });

  test("begins a new window when the block is lifted", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    await on.count(id, 0, 19);
    on.clock.advance(DAY_MS);
    await on.count(id, 0, 5);
    expect(on.block(id)).toContain("24 of 24");
    await on.commit(() => on.rates.forgetRates(id));
    expect(on.workspaces.byId(id)).toMatchObject({ rateBlockedAt: null, rateBlockReason: null, rateWarnedAt: null });
    expect(on.counters()).toEqual([]);
    await on.count(id, 0, 19);
    expect(on.block(id)).toBeNull();
    expect(on.names()).toEqual(["workspace.sending_warning", "workspace.sending_blocked", "workspace.sending_warning"]);
    await on.count(id, 0, 1);
    expect(on.block(id)).toContain("20 of 20");
  });

  test("lifted in the transaction of outcomes: what came before is forgotten, what comes after counts", async () => {
    using on = startCounting();
    const [id, other] = [await on.newWorkspace("one"), await on.newWorkspace("two")];
    await Promise.all([
      on.count(id, 0, 100),
      on.count(other, 0, 3),
      on.commit(() => on.rates.forgetRates(id)),
      on.count(id, 1, 2),
    ]);
    expect([on.block(id), on.names()]).toEqual([null, []]);
    expect(on.counters().map(({ workspaceId, name, count }) => [workspaceId, name, count])).toEqual([
      [id, "answered", 3],
      [id, "hard_bounces", 2],
      [other, "answered", 3],
      [other, "hard_bounces", 3],
    ]);
  });

  test("a lift that is rolled back forgets nothing", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    await on.count(id, 0, 30);
    const reason = on.block(id);
    const lift = on.commit(() => {
      on.rates.forgetRates(id);
      throw new Error("refused");
    });
    await Promise.allSettled([on.count(id, 0, 1), lift]);
    expect([on.block(id), on.counters().map(({ count }) => count)]).toEqual([reason, [31, 31]]);
  });

  test("other counters of the workspace are left alone by a lift", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    await on.commit(() =>
      on.db.orm.insert(usage).values({ workspaceId: id, name: "emails", day: "x", count: 4 }).run(),
    );
    await on.commit(() => on.rates.forgetRates(id));
    expect(on.counters()).toHaveLength(1);
  });

  test("is blocked for complaints, each counted on the day of the email that it is about", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    const first = on.clock.now();
    await on.count(id, 1_666, 0);
    on.clock.advance(5 * DAY_MS);
    await on.count(id, 10, 0);
    for (let n = 0; n < 4; n++) await on.complain(id, first);
    expect(on.names()).toEqual(["workspace.sending_warning"]);
    await on.count(id, 100, 0);
    await on.complain(id, first);
    // 5 of 1,776: 0.28 %.
    expect(on.block(id)).toBeNull();
    await on.complain(id, on.clock.now());
    expect(on.block(id)).toBe(
      "6 of 1,776 emails answered in the last 7 days were complained about (0.34 %; the limit is 0.3 %)",
    );
  });

  test("is not blocked for complaints about what is too old to count, nor for what was never counted", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    const first = on.clock.now();
    await on.count(id, 1_000, 0);
    on.clock.advance(7 * DAY_MS);
    await on.count(id, 3, 0);
    for (let n = 0; n < 20; n++) await on.complain(id, first);
    // A relay's mail counts nowhere.
    for (let n = 0; n < 20; n++) await on.complain(id, first + 2 * DAY_MS);
    expect([on.block(id), on.names()]).toEqual([null, []]);
    await on.commit(() => on.rates.forgetRates(id));
    for (let n = 0; n < 20; n++) await on.complain(id, on.clock.now());
    expect([on.counters(), on.names()]).toEqual([[], []]);
  });

  test("is blocked for bounces that come back by mail, counted on the day of the email; what was never counted, or is forgotten, counts for nothing", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    const first = on.clock.now();
    const bounceLater = (at: number) =>
      on.commit(() => on.rates.reported(id, { name: "hard_bounces", domain: null, answeredAt: at }));
    await on.count(id, 249, 0);
    on.clock.advance(5 * DAY_MS);
    for (let n = 0; n < 30; n++) await bounceLater(on.clock.now());
    for (let n = 0; n < 19; n++) await bounceLater(first);
    expect(on.block(id)).toBeNull();
    await bounceLater(first);
    expect(on.block(id)).toContain("20 of 249");
    await on.commit(() => on.rates.forgetRates(id));
    await bounceLater(first);
    expect(on.counters()).toEqual([]);
    // A complaint that is the only answer there was is one of one.
    await on.complain(id, null);
    expect(on.counters().map(({ name, count }) => [name, count])).toEqual([
      ["answered", 1],
      ["complaints", 1],
    ]);
  });

  test("is never blocked where that is turned off, and counted all the same", async () => {
    using on = startCounting(false);
    const id = await on.newWorkspace("one");
    await on.count(id, 0, 30);
    expect([on.block(id), on.names(), on.counters().length]).toEqual([null, [], 2]);
  });

  test("goes on as before when the clock is set back", async () => {
    using on = startCounting();
    const id = await on.newWorkspace("one");
    on.clock.advance(DAY_MS);
    await on.count(id, 0, 19);
    on.clock.advance(-DAY_MS);
    // Tomorrow's are not counted yet, and come back with tomorrow.
    await on.count(id, 0, 10);
    expect(on.block(id)).toBeNull();
    on.clock.advance(DAY_MS);
    await on.count(id, 1, 0);
    expect(on.block(id)).toContain("29 of 30");
  });
});
