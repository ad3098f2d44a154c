import { expect, setDefaultTimeout, test } from "bun:test";
import { seeded } from "../../support/db/temporary.ts";
import type { Instance, Workspace } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, startHeld, totalOf } from "../../support/api/kit.ts";

setDefaultTimeout(30_000);

const EMAILS = "/api/v1/emails";
const HOUR_S = 3600;
const DAY_MS = 24 * HOUR_S * 1000;

/** An instance whose free plan allows few emails, and a workspace on it. */
async function startSmall(startMs: number, limits: Record<string, number>) {
  const held = await startHeld(startMs, {
    configure: (config) => void Object.assign(config.plans["launch"] ?? {}, limits),
  });
  const workspace = await held.pombo.newWorkspace("launch");
  await held.pombo.addDomain(workspace, "small.test");
  return { ...held, workspace };
}

const sendOne = (pombo: Instance, workspace: Workspace, headers = {}) =>
  workspace.call("POST", EMAILS, { body: pombo.email({ from: "a@small.test" }), headers });
const sendBatch = (pombo: Instance, workspace: Workspace, count: number) =>
  workspace.call("POST", `${EMAILS}/batch`, {
    body: { emails: Array.from({ length: count }, () => pombo.email({ from: "a@small.test" })) },
  });

const NOON = Date.UTC(2026, 10, 21, 12);
const PERIODS = [
  ["day", "DAILY_QUOTA_EXCEEDED", { emailsPerDay: 40, emailsPerMonth: 1000 }],
  ["month", "MONTHLY_QUOTA_EXCEEDED", { emailsPerDay: 1000, emailsPerMonth: 40 }],
] as const;

test.each(PERIODS)("of 100 sends at once on the last ten of a %s exactly ten are accepted", async (_, code, limits) => {
  await using small = await startSmall(NOON, limits);
  const { pombo, workspace } = small;
  expect((await sendBatch(pombo, workspace, 30)).status).toBe(202);
  const answers = await Promise.all(Array.from({ length: 100 }, () => sendOne(pombo, workspace)));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(10);
  for (const answer of answers.filter(({ status }) => status !== 202)) expectErrors(answer, 402, [{ code }]);
  expect(await totalOf(workspace)).toBe(40);
  expect((await sendOne(pombo, workspace)).status).toBe(402);
});

test.each(PERIODS)(
  "with batches among them the last ten of a %s are taken whole or not at all",
  async (_, code, limits) => {
    await using small = await startSmall(NOON, limits);
    const { pombo, workspace } = small;
    expect((await sendBatch(pombo, workspace, 30)).status).toBe(202);
    const random = seeded(5);
    const sizes = Array.from({ length: 100 }, (_each, n) => (n % 3 === 0 ? 2 + Math.floor(random() * 10) : 1));
    const answers = await Promise.all(
      sizes.map((size) => (size === 1 ? sendOne(pombo, workspace) : sendBatch(pombo, workspace, size))),
    );
    let accepted = 0;
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 202) accepted += sizes[index] ?? 0;
      else expectErrors(answer, 402, [{ code }]);
    }
    expect([accepted, await totalOf(workspace)]).toEqual([10, 40]);
    // What was too many for what was left is not what used it up.
    expect(sizes.some((size, index) => size > 1 && answers[index]?.status === 402)).toBe(true);
  },
);

test.each(PERIODS)(
  "a batch larger than what is left of a %s takes nothing, and says how many are left",
  async (period, code, limits) => {
    await using small = await startSmall(NOON, limits);
    const { pombo, workspace } = small;
    expect((await sendBatch(pombo, workspace, 38)).status).toBe(202);
    const over = await sendBatch(pombo, workspace, 3);
    expectErrors(over, 402, [{ code, message: `2 emails are left, and the plan's ${period} allows 40 emails` }]);
    expect(errorItems(over)[0]?.hint).toContain("Send fewer at once");
    expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
    expectErrors(await sendOne(pombo, workspace), 402, [
      { code, message: `used up: the plan's ${period} allows 40 emails` },
    ]);
  },
);

test.each([
  ["the end of a year", Date.UTC(2026, 11, 31, 23, 59, 30), 30, 30],
  ["a leap year's last of February but one", Date.UTC(2028, 1, 28, 22), 2 * HOUR_S, 26 * HOUR_S],
  ["a leap day", Date.UTC(2028, 1, 29, 12), 12 * HOUR_S, 12 * HOUR_S],
  ["another year's last of February", Date.UTC(2027, 1, 28, 12), 12 * HOUR_S, 12 * HOUR_S],
  ["a month of 30 days", Date.UTC(2027, 3, 30), 24 * HOUR_S, 24 * HOUR_S],
])("%s: day and month begin anew at midnight UTC and not a moment before", async (_, at, dayS, monthS) => {
  for (const [code, limits, waitS] of [
    ["DAILY_QUOTA_EXCEEDED", { emailsPerDay: 1, emailsPerMonth: 9 }, dayS],
    ["MONTHLY_QUOTA_EXCEEDED", { emailsPerDay: 9, emailsPerMonth: 1 }, monthS],
  ] as const) {
    await using small = await startSmall(at, limits);
    const { pombo, workspace, advance } = small;
    expect((await sendOne(pombo, workspace)).status).toBe(202);
    const over = await sendOne(pombo, workspace);
    expectErrors(over, 402, [{ code }]);
    expect(over.headers.get("retry-after")).toBe(String(waitS));
    await advance(waitS * 1000 - 1);
    const before = await sendOne(pombo, workspace);
    expect([before.status, before.headers.get("retry-after")]).toEqual([402, "1"]);
    await advance(1);
    expect((await sendOne(pombo, workspace)).status).toBe(202);
  }
});

test("a clock that is set back gives no quota twice, and locks nobody out for longer than the period", async () => {
  await using small = await startSmall(NOON, { emailsPerDay: 2, emailsPerMonth: 100 });
  const { pombo, workspace, clock, advance } = small;
  expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
  await advance(DAY_MS);
  expect((await sendOne(pombo, workspace)).status).toBe(202);
  // Yesterday once more: its quota is used up until its end, which is told.
  await advance(-DAY_MS);
  const back = await sendOne(pombo, workspace);
  expect([back.status, back.headers.get("retry-after")]).toEqual([402, String(12 * HOUR_S)]);
  await advance(12 * HOUR_S * 1000);
  // Tomorrow has one left, whichever tomorrow it is.
  expect((await sendOne(pombo, workspace)).status).toBe(202);
  expect((await sendOne(pombo, workspace)).status).toBe(402);
  clock.advance(DAY_MS);
  expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
});

test("a month used up by a clock that ran ahead is that month's, and not the one before", async () => {
  await using small = await startSmall(Date.UTC(2026, 10, 30, 12), { emailsPerDay: 10, emailsPerMonth: 3 });
  const { pombo, workspace, advance } = small;
  expect((await sendOne(pombo, workspace)).status).toBe(202);
  await advance(DAY_MS);
  expect((await sendBatch(pombo, workspace, 3)).status).toBe(202);
  await advance(-DAY_MS);
  expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
  expect((await sendOne(pombo, workspace)).status).toBe(402);
  await advance(DAY_MS);
  const over = await sendOne(pombo, workspace);
  expectErrors(over, 402, [{ code: "MONTHLY_QUOTA_EXCEEDED" }]);
  expect(over.headers.get("retry-after")).toBe(String((30 * 24 + 12) * HOUR_S));
});

test("what was used is remembered over a restart", async () => {
  await using small = await startSmall(NOON, { emailsPerDay: 3, emailsPerMonth: 5 });
  const { pombo, workspace, advance, restart } = small;
  expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
  await restart();
  expectErrors(await sendBatch(pombo, workspace, 2), 402, [{ code: "DAILY_QUOTA_EXCEEDED" }]);
  expect((await sendOne(pombo, workspace)).status).toBe(202);
  await advance(DAY_MS);
  await restart();
  expectErrors(await sendBatch(pombo, workspace, 3), 402, [{ code: "MONTHLY_QUOTA_EXCEEDED" }]);
  expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
});

test("another plan holds from the next send on, and so does the one before", async () => {
  await using small = await startSmall(NOON, { emailsPerDay: 2, emailsPerMonth: 5 });
  const { pombo, workspace } = small;
  const setPlan = async (plan: string) => {
    const path = `/api/v1/operator/workspaces/${workspace.id}`;
    expect((await pombo.operator.call("PATCH", path, { body: { plan } })).status).toBe(200);
    expect((await workspace.call("GET", "/api/v1/workspace/usage")).body.data.plan).toBe(plan);
  };
  expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
  expectErrors(await sendOne(pombo, workspace), 402, [{ code: "DAILY_QUOTA_EXCEEDED" }]);
  await setPlan("starter");
  expect((await sendBatch(pombo, workspace, 90)).status).toBe(202);
  await setPlan("launch");
  // Far above what it allows: nothing is left, and no less than nothing.
  expectErrors(await sendOne(pombo, workspace), 402, [
    { code: "MONTHLY_QUOTA_EXCEEDED", message: "used up: the plan's month allows 5 emails" },
  ]);
  expectErrors(await sendBatch(pombo, workspace, 51), 422, [{ code: "BATCH_LIMIT_EXCEEDED", field: "emails" }]);
  await setPlan("scale");
  // While others send, the plan changes: each send goes by the one or the other.
  const answers = await Promise.all([
    ...Array.from({ length: 30 }, () => sendOne(pombo, workspace)),
    setPlan("launch"),
    ...Array.from({ length: 30 }, () => sendOne(pombo, workspace)),
  ]);
  const statuses = answers.map((answer) => answer?.status);
  expect(statuses.filter((status) => status !== undefined && status !== 202 && status !== 402)).toEqual([]);
  expect((await sendOne(pombo, workspace)).status).toBe(402);
  expect(await totalOf(workspace)).toBe(92 + statuses.filter((status) => status === 202).length);
});

test("of many domains or keys at once exactly as many are made as the plan allows", async () => {
  await using small = await startSmall(NOON, { domains: 4, apiKeys: 6 });
  const { pombo, workspace } = small;
  // One domain and one key are there.
  const create = (path: string, body: unknown) => workspace.call("POST", path, { body });
  const made = await Promise.all([
    ...Array.from({ length: 8 }, (_, n) => create("/api/v1/domains", { domain: `d${n}.test` })),
    ...Array.from({ length: 20 }, (_, n) => create("/api/v1/auth/keys", { name: `k${n}` })),
  ]);
  const [domains, keys] = [made.slice(0, 8), made.slice(8)];
  expect(domains.filter(({ status }) => status === 201)).toHaveLength(3);
  expect(keys.filter(({ status }) => status === 201)).toHaveLength(5);
  for (const answer of made.filter(({ status }) => status !== 201))
    expectErrors(answer, 402, [{ code: "PLAN_LIMIT_REACHED" }]);
  const { body } = await workspace.call("GET", "/api/v1/workspace/usage");
  expect(body.data.usage).toMatchObject({ domains: 4, apiKeys: 6 });
  expect(pombo.bugs).toEqual([]);
});
