import { expect, test } from "bun:test";
import { type Config, NO_RATE_LIMITS } from "../../../src/config/config.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, type ExpectedFault, startHeld, TIMESTAMP, UUID_V7 } from "../../support/api/kit.ts";

const WORKSPACES = "/api/v1/workspaces";

const withCreation = (creation: Config["workspaces"]["creation"]) => ({
  configure: (config: Config) => void (config.workspaces.creation = creation),
});

test("the operator makes a workspace, whose first key is shown once and works", async () => {
  await using pombo = await startInstance();
  const { status, body } = await pombo.operator.call("POST", WORKSPACES, { body: { name: "Loja da Maria" } });
  expect(status).toBe(201);
  expect(body).toEqual({
    data: {
      workspaceId: expect.stringMatching(UUID_V7),
      workspaceName: "Loja da Maria",
      apiKey: {
        ...{ id: expect.stringMatching(UUID_V7), name: "default", domainId: null, lastUsedAt: null },
        ...{ createdAt: expect.stringMatching(TIMESTAMP), key: expect.stringMatching(/^svc_[\w-]{43}$/) },
      },
    },
  });
  expect(pombo.events.at(-1)).toEqual({
    name: "workspace.created",
    fields: { workspace: body.data.workspaceId, plan: "launch" },
  });
  const { key } = body.data.apiKey;
  expect((await pombo.workspace.call("GET", "/api/v1/emails", { key })).body.meta.total).toBe(0);
});

test("a workspace's name has 1 to 100 characters, and every fault is named", async () => {
  await using pombo = await startInstance();
  for (const name of ["x", "x".repeat(100), "😀".repeat(100)]) {
    const made = await pombo.operator.call("POST", WORKSPACES, { body: { name } });
    expect([made.status, made.body.data.workspaceName]).toEqual([201, name]);
  }
  const wrong: [unknown, ...ExpectedFault[]][] = [
    [{}, { field: "name", message: "name is required" }],
    [{ name: "" }, { field: "name", message: "name must not be empty" }],
    [{ name: "x".repeat(101) }, { field: "name", message: "at most 100 characters" }],
    [{ name: "😀".repeat(101) }, { field: "name", message: "at most 100 characters" }],
    [{ name: "a\u001b[31m" }, { field: "name", message: "control characters" }],
    [{ name: "\ud800" }, { field: "name", message: "half of a surrogate pair" }],
    [{ name: null, plan: 5, members: [] }, { field: "name" }, { field: "plan" }, { field: "members" }],
  ];
  for (const [body, ...faults] of wrong)
    expectErrors(await pombo.operator.call("POST", WORKSPACES, { body }), 422, faults);
});

test("the operator chooses a plan by name, and without one it is the default plan", async () => {
  await using pombo = await startInstance();
  const findPlan = (id: string) =>
    pombo.app.db.sqlite.query<{ plan: string }, [string]>("SELECT plan FROM workspace WHERE uid = ?").get(id)?.plan;
  const make = (body: unknown) => pombo.operator.call("POST", WORKSPACES, { body });
  expect(findPlan((await make({ name: "x" })).body.data.workspaceId)).toBe("launch");
  expect(findPlan((await make({ name: "x", plan: "growth" })).body.data.workspaceId)).toBe("growth");
  for (const plan of ["gold", "Growth", "__proto__", "toString"]) {
    expectErrors(await make({ name: "x", plan }), 422, [
      { field: "plan", message: /^plan must be one of the configured plans: launch, / },
    ]);
  }
});

test("by default a workspace's key makes no workspace, and without a key it is 401", async () => {
  await using pombo = await startInstance();
  const refused = await pombo.workspace.call("POST", WORKSPACES, { body: { name: "x" } });
  expectErrors(refused, 403, [{ code: "API_KEY_RESTRICTED", message: "Only the operator key" }]);
  expect(errorItems(refused)[0]?.hint).toContain("[workspaces] creation");
  expectErrors(await pombo.workspace.call("POST", WORKSPACES, { body: { name: "x" }, key: null }), 401, [
    { code: "MISSING_API_KEY" },
  ]);
});

test("with creation any_key every whole workspace's key makes workspaces, but chooses no plan", async () => {
  await using pombo = await startInstance(withCreation("any_key"));
  const make = (body: unknown, key: string | null) => pombo.workspace.call("POST", WORKSPACES, { body, key });
  expect((await make({ name: "x" }, pombo.workspace.key)).status).toBe(201);
  expect((await make({ name: "x" }, pombo.operator.key)).status).toBe(201);
  expectErrors(await make({ name: "x", plan: "scale" }, pombo.workspace.key), 422, [
    { field: "plan", message: "only be chosen with the operator key" },
  ]);
  expectErrors(await make({ name: "x" }, null), 401, [{ code: "MISSING_API_KEY" }]);
  const domainId = await pombo.addDomain(pombo.workspace, "one.test");
  const { body } = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "one", domainId } });
  expectErrors(await make({ name: "x" }, body.data.key), 403, [
    { code: "API_KEY_RESTRICTED", message: "restricted to one domain" },
  ]);
});

test("with creation open nobody needs a key to make a workspace, but a wrong one is still wrong", async () => {
  await using pombo = await startInstance(withCreation("open"));
  const make = (body: unknown, key: string | null) => pombo.workspace.call("POST", WORKSPACES, { body, key });
  const made = await make({ name: "x" }, null);
  expect(made.status).toBe(201);
  expect((await pombo.workspace.call("GET", "/api/v1/emails", { key: made.body.data.apiKey.key })).status).toBe(200);
  expectErrors(await make({ name: "x", plan: "scale" }, null), 422, [{ field: "plan" }]);
  expectErrors(await make({ name: "x" }, `svc_${"A".repeat(43)}`), 401, [{ code: "INVALID_API_KEY" }]);
  expectErrors(await pombo.workspace.call("GET", "/api/v1/emails", { key: null }), 401, [{ code: "MISSING_API_KEY" }]);
});

/** Who asks for a workspace, and what each policy answers. */
const CALLERS: Record<string, { operator: string; any_key: string; open: string }> = {
  "the operator": { operator: "201", any_key: "201", open: "201" },
  "a workspace": { operator: "403 API_KEY_RESTRICTED", any_key: "201", open: "201" },
  "a domain": { operator: "403 API_KEY_RESTRICTED", any_key: "403 API_KEY_RESTRICTED", open: "403 API_KEY_RESTRICTED" },
  "a wrong key": { operator: "401 INVALID_API_KEY", any_key: "401 INVALID_API_KEY", open: "401 INVALID_API_KEY" },
  nobody: { operator: "401 MISSING_API_KEY", any_key: "401 MISSING_API_KEY", open: "201" },
};

async function listKeys(pombo: Instance): Promise<Record<string, string | null>> {
  const domains = await pombo.workspace.call("GET", "/api/v1/domains");
  const body = { name: "one domain", domainId: domains.body.data[0].id };
  const restricted = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body });
  return {
    "the operator": pombo.operator.key,
    "a workspace": pombo.workspace.key,
    "a domain": restricted.body.data.key,
    "a wrong key": `svc_${"A".repeat(43)}`,
    nobody: null,
  };
}

test.each(["operator", "any_key", "open"] as const)(
  "creation %s: each caller gets what it says, and refusals make nothing",
  async (creation) => {
    await using pombo = await startInstance(withCreation(creation));
    const count = () =>
      pombo.app.db.sqlite.query<{ n: number }, []>("SELECT count(*) AS n FROM workspace").get()?.n ?? 0;
    const keys = await listKeys(pombo);
    for (const [caller, key] of Object.entries(keys)) {
      const before = count();
      const answer = await pombo.workspace.call("POST", WORKSPACES, { body: { name: "x" }, key });
      const got = [answer.status, answer.body.errors?.[0].code].join(" ").trim();
      expect([caller, got, count() - before]).toEqual([
        caller,
        CALLERS[caller]?.[creation] ?? "",
        got === "201" ? 1 : 0,
      ]);
      if (got !== "201") continue;
      // What was made works, on the default plan, and belongs to nobody else.
      const made = answer.body.data;
      const list = await pombo.workspace.call("GET", "/api/v1/auth/keys", { key: made.apiKey.key });
      expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([made.apiKey.id]);
      // Only the operator chooses the plan.
      const chosen = await pombo.workspace.call("POST", WORKSPACES, { body: { name: "x", plan: "scale" }, key });
      expect([caller, chosen.status]).toEqual([caller, caller === "the operator" ? 201 : 422]);
    }
  },
);

const OPEN = {
  configure(config: Config) {
    config.workspaces.creation = "open";
    config.http.trustedProxies = ["127.0.0.1/32"];
    config.rateLimits = { ...NO_RATE_LIMITS, workspacesPerHour: 3, writesPerSecond: 1, writesBurst: 5 };
  },
};

test("with creation open an address makes so many workspaces an hour, and others are not held up", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 21, 12), OPEN);
  const { pombo, clock } = held;
  clock.advance(60_000);
  const make = (address: string, key: string | null = null, body: unknown = { name: "x" }) =>
    pombo.workspace.call("POST", WORKSPACES, { body, key, headers: { "x-forwarded-for": address } });
  const policy = '"new-workspaces";q=3;w=3600';
  for (const left of [2, 1]) {
    const { status, headers } = await make("192.0.2.1");
    expect([status, headers.get("ratelimit-policy"), headers.get("ratelimit")]).toEqual([
      201,
      policy,
      `"new-workspaces";r=${left};t=1200`,
    ]);
  }
  // What made no workspace is not counted.
  for (const body of [{}, { name: "" }, { name: "x", plan: "scale" }, { name: "x".repeat(70_000) }]) {
    const { status, headers } = await make("192.0.2.1", null, body);
    expect([status >= 400, headers.get("ratelimit")]).toEqual([true, '"new-workspaces";r=1;t=1200']);
  }
  expect((await make("192.0.2.1")).status).toBe(201);
  const refused = await make("192.0.2.1", null, { name: 5 });
  expectErrors(refused, 429, [{ code: "RATE_LIMITED", message: "Too many new workspaces" }]);
  expect([refused.headers.get("retry-after"), refused.headers.get("ratelimit")]).toEqual([
    "1200",
    '"new-workspaces";r=0;t=1200',
  ]);
  // Another address; a key, which is nobody better where anybody may create; the operator.
  expect((await make("192.0.2.2")).status).toBe(201);
  const own = await make("192.0.2.1", pombo.workspace.key);
  expect([own.status, own.headers.get("ratelimit")]).toEqual([429, '"new-workspaces";r=0;t=1200']);
  expect((await make("192.0.2.3", pombo.workspace.key)).status).toBe(201);
  expect((await make("192.0.2.1", pombo.operator.key)).status).toBe(201);
  clock.advance(1_200_000 - 1_000);
  expect((await make("192.0.2.1")).headers.get("retry-after")).toBe("1");
  clock.advance(1_000);
  expect((await make("192.0.2.1")).status).toBe(201);
  expect((await make("192.0.2.1")).status).toBe(429);
});

test("with creation open many at once from one address make no more than that", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 21, 12), OPEN);
  const { pombo } = held;
  const one = () => pombo.workspace.call("POST", WORKSPACES, { body: { name: "x" }, key: null });
  const answers = await Promise.all(Array.from({ length: 12 }, one));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(9);
});
