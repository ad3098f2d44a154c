import { describe, expect, test } from "bun:test";
import { findRight, type GRANTS, ROUTE_RIGHTS } from "../../../src/api/roles.ts";
import { OPERATOR_PATHS } from "../../../src/platform/http/auth.ts";
import { UNKNOWN_ID } from "../../support/api/kit.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { addPerson, type Person, type Role } from "../../support/people/member.ts";
import { operationsOf, servedBy } from "../api/document.ts";

/** Ends only by the client. */
const LIVE = "GET /api/v1/workspace/live";

test("every route names the right that it needs of a person, and no other is named", async () => {
  await using pombo = await startInstance();
  const routes = Object.keys(operationsOf(await servedBy(pombo)))
    .map((operation) => operation.replaceAll(/\{([^}]+)\}/g, ":$1"))
    .filter((route) => route.includes(" /api/v1/") && !route.includes(OPERATOR_PATHS))
    .filter((route) => route !== "GET /api/v1/openapi.json");
  expect(Object.keys(ROUTE_RIGHTS).toSorted()).toEqual(routes.toSorted());
});

test("a request finds the right of its route, with or without a slash at its end", () => {
  expect(findRight("GET", "/api/v1/emails/7/")).toBe("read");
  expect(findRight("POST", "/api/v1/emails")).toBe("send");
  expect(findRight("DELETE", "/api/v1/auth/keys/x")).toBe("manage");
  expect(findRight("GET", "/api/v1/sms/inbound")).toBe("read");
  expect(findRight("PUT", "/api/v1/emails")).toBeNull();
  expect(findRight("GET", "/api/v1/emails/7/secret")).toBeNull();
});

type Actor = Role | "operator";
const ACTORS: Actor[] = ["owner", "admin", "member", "viewer", "operator"];

/** As the design's table says, apart from the code that is tested. */
const ALLOWED: Record<keyof typeof GRANTS, Actor[]> = {
  read: ["owner", "admin", "member", "viewer", "operator"],
  send: ["owner", "admin", "member"],
  manage: ["owner", "admin", "operator"],
  people: ["owner", "admin", "operator"],
  own: ["owner", "operator"],
  "keys-only": [],
};

test("each role is let in where its right says so, and else told which role it has and which it needs", async () => {
  await using pombo = await startInstance();
  const people = Object.fromEntries(
    ACTORS.map((actor) => [
      actor,
      addPerson(pombo, { role: actor === "operator" ? null : actor, isOperator: actor === "operator" }),
    ]),
  ) as Record<Actor, Person>;
  let asked = 0;
  for (const [route, right] of Object.entries(ROUTE_RIGHTS)) {
    if (right === "open" || right === "person" || right === "operator" || route === LIVE) continue;
    const [method = "", template = ""] = route.split(" ");
    const path = template.replace(":address", "nobody%40example.com").replaceAll(/:\w+/g, UNKNOWN_ID);
    for (const actor of ACTORS) {
      const answer = await people[actor].act(method, path);
      const code = answer.body?.errors?.[0]?.code;
      if (ALLOWED[right].includes(actor)) {
        // It goes on to the route, which has no such thing, wants a body, or answers.
        expect([route, actor, answer.status, [200, 400, 404, 409, 415, 422].includes(answer.status)]).toEqual([
          route,
          actor,
          answer.status,
          true,
        ]);
      } else {
        expect([route, actor, answer.status, code]).toEqual([route, actor, 403, "ROLE_REQUIRED"]);
        const { message } = answer.body.errors[0];
        const words = right === "keys-only" ? "Only API keys may do this" : `yours is ${actor}`;
        expect([route, actor, message]).toEqual([route, actor, expect.stringContaining(words)]);
        for (const needed of ALLOWED[right].filter((each) => each !== "operator")) expect(message).toContain(needed);
      }
      asked += 1;
    }
  }
  expect(asked).toBeGreaterThan(200);
  expect(pombo.bugs).toEqual([]);
});

test("no role of a workspace opens what is for operators, nor does being one without saying so", async () => {
  await using pombo = await startInstance();
  const document = Object.keys(operationsOf(await servedBy(pombo)));
  const routes = document.filter((route) => {
    const template = route.replaceAll(/\{([^}]+)\}/g, ":$1");
    return route.includes(OPERATOR_PATHS) || ROUTE_RIGHTS[template] === "operator";
  });
  expect(routes.length).toBeGreaterThan(30);
  const members = ACTORS.filter((actor) => actor !== "operator").map((role) => addPerson(pombo, { role }));
  const operator = addPerson(pombo, { role: null, isOperator: true });
  for (const route of routes) {
    const [method = "", template = ""] = route.split(" ");
    const path = template.replaceAll(/\{[^}]+\}/g, UNKNOWN_ID);
    const headers = { "pombo-operator": "1" };
    const refused = await Promise.all([
      ...members.map((person) => person.act(method, path, { headers })),
      operator.act(method, path),
    ]);
    for (const { status, body } of refused)
      expect([route, status, body.errors[0].code]).toEqual([route, 403, "ROLE_REQUIRED"]);
  }
  expect(pombo.bugs).toEqual([]);
});

describe("a session", () => {
  test("sees one workspace at a time, by its header, and none of others", async () => {
    await using pombo = await startInstance();
    const other = await pombo.newWorkspace();
    const viewer = addPerson(pombo, { role: "viewer" });
    const emails = (headers: Record<string, string>) => viewer.call("GET", "/api/v1/emails", { headers });
    expect((await emails({ "pombo-workspace": pombo.workspace.id })).status).toBe(200);
    expect((await emails({ "pombo-workspace": pombo.workspace.id.toUpperCase() })).status).toBe(200);
    const strange = await emails({ "pombo-workspace": other.id });
    const unknown = await emails({ "pombo-workspace": UNKNOWN_ID });
    expect([strange.status, strange.text]).toEqual([404, unknown.text]);
    for (const headers of [{}, { "pombo-workspace": "1" }] as Record<string, string>[])
      expect((await emails(headers)).body.errors).toMatchObject([
        { code: "VALIDATION_ERROR", field: "Pombo-Workspace" },
      ]);
  });

  test("is told the methods of a path that does not know the one it asks with", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    for (const [path, allow] of [
      ["/api/v1/auth/sessions", "GET, HEAD, DELETE"],
      ["/api/v1/workspace/usage", "GET, HEAD"],
    ] as const) {
      const wrong = await owner.act("PUT", path);
      expect([path, wrong.status, wrong.headers.get("allow")]).toEqual([path, 405, allow]);
    }
    expect((await owner.act("PUT", "/api/v1/nothing")).status).toBe(404);
    expect((await owner.act("GET", `/api/v1/emails/${UNKNOWN_ID}`)).status).toBe(404);
  });

  test("is not looked at where an API key is", async () => {
    await using pombo = await startInstance();
    const viewer = addPerson(pombo, { role: "viewer" });
    const { key } = pombo.workspace;
    const created = await viewer.act("POST", "/api/v1/auth/keys", { body: { name: "x" }, key });
    expect(created.status).toBe(201);
    expect((await viewer.act("GET", "/api/v1/emails", { key: "svc_wrong" })).body.errors[0].code).toBe(
      "INVALID_API_KEY",
    );
    expect((await viewer.act("GET", "/api/v1/auth/me", { key })).body.errors[0].code).toBe("API_KEY_RESTRICTED");
  });

  test("ends for a workspace at once when the person is removed, or the workspace deleted", async () => {
    await using pombo = await startInstance();
    const owner = addPerson(pombo, { role: "owner" });
    const admin = addPerson(pombo, { role: "admin" });
    const usage = () => admin.act("GET", "/api/v1/workspace/usage");
    expect((await usage()).status).toBe(200);
    expect(
      (await owner.act("PATCH", `/api/v1/workspace/members/${admin.id}`, { body: { role: "viewer" } })).status,
    ).toBe(200);
    expect((await admin.act("GET", "/api/v1/workspace/audit")).body.errors[0].code).toBe("ROLE_REQUIRED");
    expect((await owner.act("DELETE", `/api/v1/workspace/members/${admin.id}`)).status).toBe(200);
    expect((await usage()).status).toBe(404);
    await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${pombo.workspace.id}`);
    expect((await owner.act("GET", "/api/v1/workspace/usage")).status).toBe(404);
  });
});

describe("an operator", () => {
  test("enters a workspace without being a member, which is written down once for a session", async () => {
    await using pombo = await startInstance();
    const operator = addPerson(pombo, { role: null, isOperator: true });
    for (let times = 0; times < 3; times += 1)
      expect((await operator.act("GET", "/api/v1/workspace/usage")).status).toBe(200);
    const owner = addPerson(pombo, { role: "owner" });
    const { body } = await owner.act("GET", "/api/v1/workspace/audit");
    const entered = body.data.filter(({ action }: { action: string }) => action === "workspace.entered");
    expect(entered).toMatchObject([
      { actor: { kind: "user", name: operator.email, userId: operator.id }, target: null, network: "127.0.0.1" },
    ]);
  });

  test("acts as one only with the header, and only if they are one", async () => {
    await using pombo = await startInstance();
    const operator = addPerson(pombo, { role: null, isOperator: true });
    const owner = addPerson(pombo, { role: "owner" });
    const list = (person: Person, headers: Record<string, string>) =>
      person.call("GET", "/api/v1/operator/workspaces", { headers });
    expect((await list(operator, { "pombo-operator": "1" })).status).toBe(200);
    expect((await list(operator, {})).body.errors[0].code).toBe("ROLE_REQUIRED");
    expect((await list(owner, { "pombo-operator": "1" })).body.errors[0].code).toBe("ROLE_REQUIRED");
  });

  test("who creates a workspace owns it; nobody else does", async () => {
    await using pombo = await startInstance();
    const headers = { "pombo-operator": "1" };
    const operator = addPerson(pombo, { role: null, isOperator: true });
    const created = await operator.call("POST", "/api/v1/workspaces", { body: { name: "Nova" }, headers });
    expect(created.status).toBe(201);
    const workspace = { "pombo-workspace": created.body.data.workspaceId };
    const members = await operator.call("GET", "/api/v1/workspace/members", { headers: workspace });
    expect(members.body.data).toMatchObject([{ id: operator.id, role: "owner" }]);
    const owner = addPerson(pombo, { role: "owner" });
    const refused = await owner.call("POST", "/api/v1/workspaces", { body: { name: "x" }, headers });
    expect(refused.body.errors[0].code).toBe("ROLE_REQUIRED");
    const byKey = await pombo.newWorkspace();
    expect((await byKey.call("GET", "/api/v1/workspace/members")).body.data).toEqual([]);
  });
});

describe("a dangerous act", () => {
  const OLD = 11 * 60_000;
  const ACTS: [method: string, path: string, body?: unknown][] = [
    ["POST", "/api/v1/auth/keys", { name: "x" }],
    ["DELETE", `/api/v1/auth/keys/${UNKNOWN_ID}`],
    ["POST", "/api/v1/webhooks", { url: "https://hooks.example.com/", events: ["*"] }],
    ["DELETE", `/api/v1/webhooks/${UNKNOWN_ID}`],
    ["POST", `/api/v1/webhooks/${UNKNOWN_ID}/rotate-secret`, {}],
    ["POST", "/api/v1/workspace/invitations", { email: "rui@example.com", role: "owner" }],
    ["PATCH", `/api/v1/workspace/members/${UNKNOWN_ID}`, { role: "owner" }],
  ];

  test("needs a proof of at most ten minutes; an API key is never asked", async () => {
    await using pombo = await startInstance();
    const stale = addPerson(pombo, { role: "owner", provedAt: Date.now() - OLD });
    const fresh = addPerson(pombo, { role: "owner", provedAt: Date.now() - OLD + 2 * 60_000 });
    for (const [method, path, body] of ACTS) {
      const options = body === undefined ? {} : { body };
      const refused = await stale.act(method, path, options);
      expect([method, path, refused.body.errors?.[0]?.code]).toEqual([method, path, "PROOF_REQUIRED"]);
      const others = [await fresh.act(method, path, options), await pombo.workspace.call(method, path, options)];
      for (const { body: answer } of others)
        expect([path, answer.errors?.[0]?.code]).not.toEqual([path, "PROOF_REQUIRED"]);
    }
    const { body } = await stale.act("GET", "/api/v1/domains");
    expect((await stale.act("DELETE", `/api/v1/domains/${body.data[0].id}`)).body.errors[0].code).toBe(
      "PROOF_REQUIRED",
    );
  });

  test("of an operator too", async () => {
    await using pombo = await startInstance();
    const stale = addPerson(pombo, { role: null, isOperator: true, provedAt: Date.now() - OLD });
    const workspace = `/api/v1/operator/workspaces/${pombo.workspace.id}`;
    for (const [method, path, body] of [
      ["POST", "/api/v1/operator/key/rotate", undefined],
      ["POST", `${workspace}/keys`, { name: "x" }],
      ["DELETE", workspace, undefined],
      ["POST", "/api/v1/workspaces", { name: "x" }],
    ] as const) {
      const options = { headers: { "pombo-operator": "1" }, ...(body === undefined ? {} : { body }) };
      expect((await stale.call(method, path, options)).body.errors[0].code).toBe("PROOF_REQUIRED");
    }
    expect((await pombo.workspace.call("GET", "/api/v1/workspace/usage")).status).toBe(200);
  });
});
