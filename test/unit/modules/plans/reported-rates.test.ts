// What comes by mail counts towards the sending block up to a cap for each organizational domain of the recipients.

import { expect, test } from "bun:test";
import { windowAt } from "../../../../src/modules/plans/sending-block.ts";
import { seeded } from "../../../support/db/temporary.ts";
import { DAY_MS, NOON, startCounting } from "./counting.ts";

const capped = (on: ReturnType<typeof startCounting>) =>
  on.names().filter((name) => name === "workspace.reports_capped");

test("of one organizational domain block nobody, however many: two complaints and five hard bounces count", async () => {
  using on = startCounting();
  const id = await on.newWorkspace("one");
  await on.count(id, 60, 0);
  for (let n = 0; n < 50; n++) await on.complain(id, NOON, "evil.example");
  for (let n = 0; n < 50; n++) await on.bounceLater(id, NOON, "evil.example");
  expect([on.block(id), on.names()]).toEqual([null, ["workspace.reports_capped"]]);
  expect(Object.fromEntries(on.counters().map(({ name, count }) => [name, count]))).toEqual({
    ...{ answered: 60, complaints: 2, hard_bounces: 5 },
    ...{ capped_complaints: 48, capped_hard_bounces: 45 },
  });
  expect(on.workspaces.byId(id)).toMatchObject({
    reportsWarnedAt: NOON,
    reportsWarning: on.told[0]?.fields["reason"],
  });
  expect(on.told[0]?.fields["reason"]).toBe(
    "5 of 60 emails answered in the last 7 days were complained about (8.33 %; the limit is 0.3 %); " +
      "5 complaints came by mail about recipients at evil.example, and 2 of a domain count",
  );
  expect(on.notices).toEqual([]);
});

test("all in one transaction count no more, and in closures that are rolled back nothing", async () => {
  using on = startCounting();
  const id = await on.newWorkspace("one");
  await on.count(id, 60, 0);
  const refused = on.commit(() => {
    for (let n = 0; n < 9; n++) on.rates.reported(id, { name: "complaints", domain: "a.example", answeredAt: NOON });
    throw new Error("refused");
  });
  await Promise.allSettled([refused, ...Array.from({ length: 9 }, () => on.complain(id, NOON, "b.example"))]);
  expect(on.reports()).toEqual([
    { workspaceId: id, day: "2026-11-21", name: "complaints", domain: "b.example", count: 9, counted: 2 },
  ]);
  on.break(true);
  await Promise.allSettled([on.complain(id, NOON, "c.example")]);
  on.break(false);
  expect(on.reports()).toHaveLength(1);
  expect(on.block(id)).toBeNull();
});

test("of three domains count by the cap of each, and block where that suffices", async () => {
  using on = startCounting();
  const [id, other] = [await on.newWorkspace("one"), await on.newWorkspace("two")];
  await on.count(id, 1_000, 0);
  await on.count(other, 1_000, 0);
  for (const domain of ["a.example", "b.example"]) for (let n = 0; n < 9; n++) await on.complain(id, NOON, domain);
  expect([on.block(id), on.names()]).toEqual([null, ["workspace.reports_capped", "workspace.sending_warning"]]);
  await on.complain(id, NOON, "c.example");
  expect(on.block(id)).toContain("5 of 1,000 emails");
  // What a listed provider reports, and what servers answer us, has no cap, and stands beside what has one.
  for (let n = 0; n < 9; n++) await on.complain(other, NOON, "a.example");
  for (let n = 0; n < 2; n++) await on.complain(other, NOON);
  expect(on.block(other)).toBeNull();
  await on.complain(other, NOON);
  expect(on.block(other)).toContain("5 of 1,000 emails");
});

test("about a queued email count it as answered, and have the cap too", async () => {
  using on = startCounting();
  const id = await on.newWorkspace("one");
  for (let n = 0; n < 20; n++) await on.bounceLater(id, null, "evil.example");
  expect(on.block(id)).toBeNull();
  expect(on.counters().map(({ name, count }) => [name, count])).toEqual([
    ["answered", 20],
    ["capped_hard_bounces", 15],
    ["hard_bounces", 5],
  ]);
});

test("never count more than the cap in the seven days that are looked at, and again in those after", async () => {
  using on = startCounting();
  const id = await on.newWorkspace("one");
  const random = seeded(11);
  let days = 0;
  for (let day = 0; day < 60; day++) {
    await on.count(id, 50, 0);
    // About emails of today and of the week before, in any order.
    for (let n = Math.floor(random() * 4); n > 0; n--)
      await on.complain(id, on.clock.now() - Math.floor(random() * 9) * DAY_MS, "evil.example");
    const { first } = windowAt(on.clock.now());
    const counted = on.counters().filter((row) => row.name === "complaints" && row.day >= first);
    const sum = counted.reduce((all, { count }) => all + count, 0);
    expect([day, sum <= 2]).toEqual([day, true]);
    if (sum === 2) days += 1;
    on.clock.advance(DAY_MS);
  }
  expect(days).toBeGreaterThan(40);
  // What has left the window is forgotten with the next report.
  expect(on.reports().length).toBeLessThan(10);
  expect(on.block(id)).toBeNull();
});

test("are warned about once a day, and a lift forgets them", async () => {
  using on = startCounting();
  const id = await on.newWorkspace("one");
  await on.count(id, 60, 0);
  for (let n = 0; n < 9; n++) await on.complain(id, NOON, "evil.example");
  expect(capped(on)).toHaveLength(1);
  on.clock.advance(DAY_MS);
  await on.count(id, 1, 0);
  expect(capped(on)).toHaveLength(2);
  await on.commit(() => on.rates.forgetRates(id));
  expect([on.counters(), on.reports()]).toEqual([[], []]);
  expect(on.workspaces.byId(id)).toMatchObject({ reportsWarnedAt: null, reportsWarning: null });
  await on.count(id, 60, 0);
  await on.complain(id, on.clock.now(), "evil.example");
  expect(on.reports()).toMatchObject([{ count: 1, counted: 1 }]);
});
