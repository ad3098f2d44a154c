import { expect, test } from "bun:test";
import type { Config } from "../../src/config.ts";
import { startInstance } from "../fakes/instance.ts";
import { errorItems, expectErrors, type ExpectedFault, TIMESTAMP, UUID_V7 } from "./kit.ts";

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
  const planOf = (id: string) =>
    pombo.app.db.sqlite.query<{ plan: string }, [string]>("SELECT plan FROM workspace WHERE uid = ?").get(id)?.plan;
  const make = (body: unknown) => pombo.operator.call("POST", WORKSPACES, { body });
  expect(planOf((await make({ name: "x" })).body.data.workspaceId)).toBe("launch");
  expect(planOf((await make({ name: "x", plan: "growth" })).body.data.workspaceId)).toBe("growth");
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
    { field: "plan", message: "operator key only" },
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
