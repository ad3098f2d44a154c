import { expect, test } from "bun:test";
import { type Instance, startInstance, type Workspace } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, startHeld, totalOf } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const HOUR_S = 3600;

/** An instance whose free plan allows few emails, at noon of 30 June, and a workspace on it. */
async function startSmall(limits: { emailsPerDay: number; emailsPerMonth: number }) {
  const held = await startHeld(Date.UTC(2026, 5, 30, 12), {
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

test("a day's quota is exact, says when it ends, and is new with the next UTC day", async () => {
  await using small = await startSmall({ emailsPerDay: 3, emailsPerMonth: 100 });
  const { pombo, workspace, advance } = small;
  for (let sent = 0; sent < 3; sent++) expect((await sendOne(pombo, workspace)).status).toBe(202);
  const over = await sendOne(pombo, workspace);
  expectErrors(over, 402, [{ code: "DAILY_QUOTA_EXCEEDED", message: "day allows 3 emails" }]);
  expect(errorItems(over)[0]?.hint).toContain("Wait until the period ends");
  expect(over.headers.get("retry-after")).toBe(String(12 * HOUR_S));
  expect(await totalOf(workspace)).toBe(3);
  await advance(12 * HOUR_S * 1000 - 1);
  expect((await sendOne(pombo, workspace)).headers.get("retry-after")).toBe("1");
  await advance(1);
  expect((await sendOne(pombo, workspace)).status).toBe(202);
});

test("a month's quota is told as the month's, and is new with the next UTC month", async () => {
  await using small = await startSmall({ emailsPerDay: 100, emailsPerMonth: 2 });
  const { pombo, workspace, advance } = small;
  expect((await sendBatch(pombo, workspace, 2)).status).toBe(202);
  const over = await sendOne(pombo, workspace);
  expectErrors(over, 402, [{ code: "MONTHLY_QUOTA_EXCEEDED", message: "month allows 2 emails" }]);
  expect(over.headers.get("retry-after")).toBe(String(12 * HOUR_S));
  await advance(12 * HOUR_S * 1000);
  expect((await sendOne(pombo, workspace)).status).toBe(202);
});

test("a batch counts whole or not at all", async () => {
  await using small = await startSmall({ emailsPerDay: 10, emailsPerMonth: 100 });
  const { pombo, workspace } = small;
  expect((await sendBatch(pombo, workspace, 7)).status).toBe(202);
  expectErrors(await sendBatch(pombo, workspace, 4), 402, [{ code: "DAILY_QUOTA_EXCEEDED" }]);
  expect(await totalOf(workspace)).toBe(7);
  // Nothing was taken by the refused one, from the month neither.
  expect((await sendBatch(pombo, workspace, 3)).status).toBe(202);
  expect(await totalOf(workspace)).toBe(10);
  const counted = pombo.app.db.sqlite.query("SELECT name, count FROM usage WHERE name = 'emails'").all();
  expect(counted).toEqual([{ name: "emails", count: 10 }]);
});

test("of many sends at once exactly the quota is accepted", async () => {
  await using small = await startSmall({ emailsPerDay: 10, emailsPerMonth: 100 });
  const { pombo, workspace } = small;
  const answers = await Promise.all(Array.from({ length: 40 }, () => sendOne(pombo, workspace)));
  const statuses = answers.map(({ status }) => status);
  expect([
    statuses.filter((status) => status === 202).length,
    statuses.filter((status) => status === 402).length,
  ]).toEqual([10, 30]);
  expect(await totalOf(workspace)).toBe(10);
});

test("refused requests and replays take no quota, and a replay is answered after it ran out", async () => {
  await using small = await startSmall({ emailsPerDay: 2, emailsPerMonth: 100 });
  const { pombo, workspace } = small;
  const key = { "idempotency-key": "order-1" };
  const first = await sendOne(pombo, workspace, key);
  for (let again = 0; again < 5; again++) expect((await sendOne(pombo, workspace, key)).text).toBe(first.text);
  expect((await workspace.call("POST", EMAILS, { body: {} })).status).toBe(422);
  expect((await workspace.call("POST", EMAILS, { body: pombo.email({ from: "a@unknown.test" }) })).status).toBe(422);
  expect((await sendOne(pombo, workspace)).status).toBe(202);
  expect((await sendOne(pombo, workspace)).status).toBe(402);
  expect((await sendOne(pombo, workspace, key)).text).toBe(first.text);
});

test("the quota is looked at last: an unverified sender or a batch too long is told first", async () => {
  await using small = await startSmall({ emailsPerDay: 0, emailsPerMonth: 0 });
  const { pombo, workspace } = small;
  expectErrors(await workspace.call("POST", EMAILS, { body: pombo.email({ from: "a@unknown.test" }) }), 422, [
    { field: "from" },
  ]);
  expectErrors(await sendBatch(pombo, workspace, 51), 422, [{ code: "BATCH_LIMIT_EXCEEDED", field: "emails" }]);
  expectErrors(await sendOne(pombo, workspace), 402, [{ code: "MONTHLY_QUOTA_EXCEEDED" }]);
});

test("a suppressed recipient is told before the quota", async () => {
  await using small = await startSmall({ emailsPerDay: 0, emailsPerMonth: 0 });
  const { pombo, workspace } = small;
  pombo.app.db.sqlite.run(
    "INSERT INTO suppression (workspace_id, channel, address, reason, created_at) SELECT id, 'email', 'maria@example.com', 'manual', 0 FROM workspace",
  );
  expectErrors(await sendOne(pombo, workspace), 422, [
    { code: "RECIPIENT_SUPPRESSED", field: "to", message: "manual" },
  ]);
});

test("the idempotency key of a request over the quota can be used again", async () => {
  await using small = await startSmall({ emailsPerDay: 1, emailsPerMonth: 100 });
  const { pombo, workspace, advance } = small;
  const key = { "idempotency-key": "order-2" };
  expect((await sendOne(pombo, workspace)).status).toBe(202);
  expect((await sendOne(pombo, workspace, key)).status).toBe(402);
  await advance(12 * HOUR_S * 1000);
  const accepted = await sendOne(pombo, workspace, key);
  expect([accepted.status, accepted.headers.has("idempotent-replayed")]).toEqual([202, false]);
});

test("one workspace's quota is not another's, and the largest plan has none", async () => {
  await using small = await startSmall({ emailsPerDay: 1, emailsPerMonth: 1 });
  const { pombo, workspace } = small;
  expect((await sendOne(pombo, workspace)).status).toBe(202);
  expect((await sendOne(pombo, workspace)).status).toBe(402);
  const many = Array.from({ length: 150 }, () => pombo.email());
  expect((await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails: many } })).status).toBe(202);
});

test("a workspace has as many domains as its plan allows", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("launch");
  const create = (domain: string) => workspace.call("POST", "/api/v1/domains", { body: { domain } });
  const answers = await Promise.all(["one.test", "two.test", "three.test"].map(create));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 402, 402]);
  const refused = answers.find(({ status }) => status === 402);
  if (refused === undefined) throw new Error("nothing was refused");
  expectErrors(refused, 402, [{ code: "PLAN_LIMIT_REACHED", message: "The plan allows 1 domain" }]);
  expect(errorItems(refused)[0]?.hint).toBeString();
  const { body } = await workspace.call("GET", "/api/v1/domains");
  await workspace.call("DELETE", `/api/v1/domains/${body.data[0].id}`);
  expect((await create("four.test")).status).toBe(201);
});

test("a workspace has as many API keys as its plan allows", async () => {
  await using pombo = await startInstance({
    configure: (config) => void Object.assign(config.plans["launch"] ?? {}, { apiKeys: 2 }),
  });
  const workspace = await pombo.newWorkspace("launch");
  const create = () => workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop" } });
  const answers = await Promise.all([create(), create(), create()]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 402, 402]);
  expectErrors(await create(), 402, [{ code: "PLAN_LIMIT_REACHED", message: "The plan allows 2 API keys" }]);
});
