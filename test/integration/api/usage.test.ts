import { expect, setDefaultTimeout, test } from "bun:test";
import { seeded } from "../../support/db/temporary.ts";
import { type Client, type Instance, type Json, startInstance, type Workspace } from "../../support/fakes/instance.ts";
import { expectErrors, startHeld } from "../../support/api/kit.ts";

setDefaultTimeout(30_000);

const EMAILS = "/api/v1/emails";
const USAGE = "/api/v1/workspace/usage";
const DAY_MS = 24 * 60 * 60 * 1000;

async function reportOf(client: Client): Promise<Json> {
  const { status, body } = await client.call("GET", USAGE);
  expect(status).toBe(200);
  return body.data;
}

test("the report of a new workspace has exactly the interface's members, in its order", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("launch");
  const answer = await workspace.call("GET", USAGE);
  expect(answer.text).toBe(
    JSON.stringify({
      data: {
        plan: "launch",
        limits: {
          emailsPerMonth: 3000,
          emailsPerDay: 100,
          domains: 1,
          apiKeys: -1,
          webhooks: 1,
          members: 1,
          storageBytes: 134217728,
        },
        usage: {
          emailsThisMonth: 0,
          emailsToday: 0,
          smsThisMonth: 0,
          smsCreditsBalance: 0,
          domains: 0,
          apiKeys: 1,
          webhooks: 0,
          members: 0,
          storageBytes: 0,
        },
      },
    }),
  );
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
});

test("GET /workspace?include=usage has the same report, and without it there is none", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("launch");
  const { body } = await workspace.call("GET", "/api/v1/workspace?include=usage");
  expect(body.data.usage).toEqual(await reportOf(workspace));
  expect(body.data.plan).toBe("launch");
  expect(Object.keys((await workspace.call("GET", "/api/v1/workspace")).body.data)).not.toContain("usage");
  expectErrors(await workspace.call("GET", "/api/v1/workspace?include=members"), 422, [{ field: "include" }]);
});

test.each([
  ["starter", [50_000, 5_000, 10, -1, 5, 5, 2 ** 31]],
  ["growth", [250_000, 25_000, 50, -1, 20, 20, 10 * 2 ** 30]],
  ["scale", [-1, -1, -1, -1, -1, -1, -1]],
])("the limits of %s are those of the plan, -1 where there is none", async (plan, limits) => {
  await using pombo = await startInstance();
  const report = await reportOf(await pombo.newWorkspace(plan));
  expect([report.plan, Object.values(report.limits)]).toEqual([plan, limits]);
});

test("what is there counts, what is gone does not, and a neighbour's never", async () => {
  await using pombo = await startInstance();
  const workspace = await pombo.newWorkspace("starter");
  const before = await reportOf(workspace);
  // The neighbour is busy.
  for (let n = 0; n < 3; n++) await pombo.workspace.call("POST", EMAILS, { body: pombo.email() });
  await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "theirs" } });
  expect(await reportOf(workspace)).toEqual(before);

  const domainId = await pombo.addDomain(workspace, "own.test");
  await workspace.call("POST", "/api/v1/domains", { body: { domain: "pending.test" } });
  await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "whole" } });
  await workspace.call("POST", "/api/v1/auth/keys", { body: { name: "restricted", domainId } });
  await workspace.call("POST", EMAILS, { body: pombo.email({ from: "a@own.test" }) });
  expect((await reportOf(workspace)).usage).toMatchObject({ domains: 2, apiKeys: 3, emailsToday: 1 });
  // The key restricted to the domain goes with it.
  await workspace.call("DELETE", `/api/v1/domains/${domainId}`);
  expect((await reportOf(workspace)).usage).toMatchObject({ domains: 1, apiKeys: 2, emailsToday: 1 });
});

test("only a key for the whole workspace may see it, and it takes no parameters", async () => {
  await using pombo = await startInstance();
  const { body: domains } = await pombo.workspace.call("GET", "/api/v1/domains");
  const { body } = await pombo.workspace.call("POST", "/api/v1/auth/keys", {
    body: { name: "restricted", domainId: domains.data[0].id },
  });
  const call = (key: string | null, path = USAGE) => pombo.workspace.call("GET", path, { key });
  expectErrors(await call(body.data.key), 403, [{ code: "API_KEY_RESTRICTED" }]);
  expectErrors(await call(pombo.operator.key), 403, [{ code: "API_KEY_RESTRICTED" }]);
  expectErrors(await call(null), 401, [{ code: "MISSING_API_KEY" }]);
  expectErrors(await call(pombo.workspace.key, `${USAGE}?month=2026-11`), 422, [{ field: "month" }]);
  const wrong = await pombo.workspace.call("POST", USAGE, { body: {} });
  expectErrors(wrong, 405, [{ code: "METHOD_NOT_ALLOWED" }]);
  expect(wrong.headers.get("allow")).toContain("GET");
});

test("a plan that is not configured any more counts as the default one, by its name", async () => {
  await using pombo = await startInstance({
    configure: (config) => {
      config.plans["gone"] = { ...config.plans["scale"]!, batch: 2 };
      config.plans["launch"] = { ...config.plans["launch"]!, batch: 3, emailsPerDay: 4 };
    },
  });
  const workspace = await pombo.newWorkspace("gone");
  await pombo.addDomain(workspace, "own.test");
  expect((await reportOf(workspace)).plan).toBe("gone");
  delete pombo.config.plans["gone"];
  await pombo.restart();
  const report = await reportOf(workspace);
  expect([report.plan, report.limits.emailsPerDay, report.limits.domains]).toEqual(["launch", 4, 1]);
  const batch = (count: number) =>
    workspace.call("POST", `${EMAILS}/batch`, {
      body: { emails: Array.from({ length: count }, () => pombo.email({ from: "a@own.test" })) },
    });
  expectErrors(await batch(4), 422, [{ code: "BATCH_LIMIT_EXCEEDED", message: "allows 3 emails", field: "emails" }]);
  expect((await batch(3)).status).toBe(202);
  expectErrors(await batch(2), 402, [{ code: "DAILY_QUOTA_EXCEEDED", message: "day allows 4 emails" }]);
});

/** How many emails a request has cost, by its answer. */
interface Cost {
  count: number;
  status: number;
}

/** One thing that a customer may do. */
type Deed = (pombo: Instance, workspace: Workspace, random: () => number) => Promise<Cost>;

const post = async (workspace: Workspace, path: string, options: Parameters<Workspace["call"]>[2]): Promise<Cost> => {
  const answer = await workspace.call("POST", path, options);
  const isReplay = answer.headers.has("idempotent-replayed");
  if (answer.status !== 202) return { count: 0, status: answer.status };
  return { count: isReplay ? 0 : [answer.body.data].flat().length, status: isReplay ? 0 : 202 };
};

const DEEDS: Deed[] = [
  (pombo, workspace) => post(workspace, EMAILS, { body: pombo.email({ from: "a@own.test" }) }),
  (pombo, workspace, random) => {
    const emails = Array.from({ length: 1 + Math.floor(random() * 9) }, () => pombo.email({ from: "a@own.test" }));
    return post(workspace, `${EMAILS}/batch`, { body: { emails } });
  },
  // Under one of a few keys: a first answer, a replay, or one with another body.
  (pombo, workspace, random) => {
    const headers = { "idempotency-key": `key ${Math.floor(random() * 6)}` };
    const emails = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pombo.email({ from: "a@own.test" }));
    return post(workspace, `${EMAILS}/batch`, { headers, body: { emails } });
  },
  // All of these are refused, whole.
  (pombo, workspace) => {
    const emails = [pombo.email({ from: "a@own.test" }), pombo.email({ from: "a@unknown.test" })];
    return post(workspace, `${EMAILS}/batch`, { body: { emails } });
  },
  (pombo, workspace) => {
    const emails = [pombo.email({ from: "a@own.test" }), pombo.email({ from: "a@own.test", to: "gone@example.com" })];
    return post(workspace, `${EMAILS}/batch`, { body: { emails } });
  },
  (pombo, workspace) => {
    const emails = Array.from({ length: 11 }, () => pombo.email({ from: "a@own.test" }));
    return post(workspace, `${EMAILS}/batch`, { body: { emails } });
  },
  (_, workspace) => post(workspace, EMAILS, { rawBody: "{" }),
  (pombo, workspace) =>
    post(workspace, EMAILS, { key: `svc_${"x".repeat(43)}`, body: pombo.email({ from: "a@own.test" }) }),
];

const SEED = Number(process.env["SEED"] ?? 11);

test("the report equals the emails answered with 202, whatever else was asked, over days, months and restarts", async () => {
  const start = Date.UTC(2027, 11, 28, 20);
  await using held = await startHeld(start, {
    configure: (config) =>
      void Object.assign(config.plans["launch"] ?? {}, { emailsPerDay: 25, emailsPerMonth: 60, batch: 10 }),
  });
  const { pombo, clock, advance, restart } = held;
  const workspace = await pombo.newWorkspace("launch");
  await pombo.addDomain(workspace, "own.test");
  pombo.app.db.sqlite.run(
    "INSERT INTO suppression (workspace_id, channel, address, reason, created_at) SELECT id, 'email', 'gone@example.com', 'manual', 0 FROM workspace",
  );
  const random = seeded(SEED);
  const byDay = new Map<string, number>();
  const statuses = new Set<number>();
  for (let step = 0; step < 60; step++) {
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    // Several at once, in one transaction or several.
    const deeds = Array.from(
      { length: 1 + Math.floor(random() * 5) },
      () => DEEDS[Math.floor(random() * DEEDS.length)],
    );
    const costs = await Promise.all(deeds.map(async (deed) => await deed?.(pombo, workspace, random)));
    for (const cost of costs) {
      statuses.add(cost?.status ?? 0);
      byDay.set(day, (byDay.get(day) ?? 0) + (cost?.count ?? 0));
    }
    const month = [...byDay].filter(([each]) => each.startsWith(day.slice(0, 7)));
    const inMonth = month.reduce((sum, [, count]) => sum + count, 0);
    const { usage } = await reportOf(workspace);
    expect([step, usage.emailsToday, usage.emailsThisMonth]).toEqual([step, byDay.get(day) ?? 0, inMonth]);
    expect([usage.emailsToday <= 25, usage.emailsThisMonth <= 60]).toEqual([true, true]);
    if (random() < 0.3) await advance(Math.floor(random() * DAY_MS));
    if (random() < 0.03) await restart();
  }
  const { sqlite } = pombo.app.db;
  const stored = sqlite.query<{ count: number }, []>("SELECT COUNT(*) AS count FROM email").get()?.count;
  expect(stored).toBe([...byDay.values()].reduce((sum, count) => sum + count, 0));
  // The history was one that says something.
  expect(byDay.size).toBeGreaterThan(4);
  expect([...statuses].toSorted()).toEqual([0, 202, 400, 401, 402, 422]);
  expect(pombo.bugs).toEqual([]);
});
