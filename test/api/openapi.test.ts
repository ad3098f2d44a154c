import { validate } from "@apidevtools/swagger-parser";
import { expect, test } from "bun:test";
import { type Instance, type Json, type RequestOptions, startInstance } from "../fakes/instance.ts";
import { faultsAgainst } from "./json-schema.ts";
import { omit, UNKNOWN_ID } from "./kit.ts";

type Members = Record<string, Json>;

async function documentOf(pombo: Instance): Promise<Members> {
  return (await pombo.workspace.call("GET", "/api/v1/openapi.json", { key: null })).body;
}

/** Every operation of the document, by `METHOD /path`. */
function operationsOf(document: Members): Record<string, Members> {
  const operations: Record<string, Members> = {};
  for (const [path, methods] of Object.entries<Members>(document["paths"])) {
    for (const [method, operation] of Object.entries<Members>(methods))
      operations[`${method.toUpperCase()} ${path}`] = operation;
  }
  return operations;
}

/** Every object in the document with the path to it. */
function* objectsIn(value: Json, path = ""): Generator<[path: string, object: Members]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [path, value];
  for (const [name, member] of Object.entries(value)) yield* objectsIn(member, `${path}/${name}`);
}

test("the document is valid OpenAPI 3.0", async () => {
  await using pombo = await startInstance();
  const document = await documentOf(pombo);
  expect(document["openapi"]).toMatch(/^3\.0\.\d$/);
  expect(document["info"]).toMatchObject({ title: "pombo", version: "1.0" });
  await validate(structuredClone(document) as never);
  // The validator is no rubber stamp: what OpenAPI 3.0 lacks is found.
  for (const fault of [{ const: "queued" }, { type: "null" }, { examples: ["x"] }]) {
    const broken = structuredClone(document);
    Object.assign(
      broken["paths"]["/api/v1/emails"].post.responses["202"].content["application/json"].schema.properties.data
        .properties.status,
      fault,
    );
    await expect(validate(broken as never)).rejects.toThrow();
  }
});

test("nothing in the document is TypeBox's own or beyond OpenAPI 3.0", async () => {
  await using pombo = await startInstance();
  const foreign = [
    "const",
    "examples",
    "x-default",
    "$id",
    "$schema",
    "patternProperties",
    "if",
    "unevaluatedProperties",
    "~kind",
    "error",
  ];
  for (const [path, object] of objectsIn(await documentOf(pombo))) {
    for (const name of foreign) {
      // A member of a request or answer may be called anything.
      if (!path.endsWith("/properties")) expect([path, name, name in object]).toEqual([path, name, false]);
    }
    const names = Object.keys(object).filter((name) => !(path.endsWith("/properties") && name === "kind"));
    expect([path, names.filter((name) => /symbol|pombo|kind$/i.test(name))]).toEqual([path, []]);
    if (!path.endsWith("/properties"))
      expect([path, object["type"] === "null", Array.isArray(object["type"])]).toEqual([path, false, false]);
  }
});

const SEND_STATUSES = ["202", "400", "401", "402", "403", "409", "413", "415", "422", "503"];
const CHANGE_STATUSES = ["400", "401", "403", "404", "409", "413", "415", "422", "503"];
const OPERATOR_READ_STATUSES = ["200", "401", "403", "404", "422"];
const OPERATOR_CHANGE_STATUSES = ["400", "401", "403", "404", "413", "415", "422", "503"];
const CREATE_STATUSES = ["201", "400", "401", "403", "413", "415", "422", "503"];

/** Every route and the statuses that it is documented with. */
const ROUTES: Record<string, string[]> = {
  "POST /api/v1/emails": SEND_STATUSES,
  "POST /api/v1/emails/batch": SEND_STATUSES,
  "GET /api/v1/emails": ["200", "401", "403", "422"],
  "GET /api/v1/emails/{id}": ["200", "401", "403", "404", "422"],
  "GET /api/v1/emails/{id}/events": ["200", "401", "403", "404", "422"],
  "POST /api/v1/emails/{id}/cancel": ["200", ...CHANGE_STATUSES],
  "POST /api/v1/emails/{id}/retry": ["202", ...CHANGE_STATUSES],
  "POST /api/v1/domains": [...CREATE_STATUSES, "402", "409"],
  "GET /api/v1/domains": ["200", "401", "403", "422"],
  "POST /api/v1/domains/{id}/verification-checks": ["200", "400", "401", "403", "404", "413", "415", "422", "503"],
  "DELETE /api/v1/domains/{id}": ["200", "401", "403", "404", "422", "503"],
  "POST /api/v1/workspaces": CREATE_STATUSES,
  "GET /api/v1/workspace/usage": ["200", "401", "403", "422"],
  "POST /api/v1/auth/keys": [...CREATE_STATUSES, "402", "404"],
  "GET /api/v1/operator/workspaces": ["200", "401", "403", "422"],
  "GET /api/v1/operator/workspaces/{id}": OPERATOR_READ_STATUSES,
  "PATCH /api/v1/operator/workspaces/{id}": ["200", ...OPERATOR_CHANGE_STATUSES],
  "DELETE /api/v1/operator/workspaces/{id}": ["200", "401", "403", "404", "422", "503"],
  "POST /api/v1/operator/workspaces/{id}/block": ["200", ...OPERATOR_CHANGE_STATUSES],
  "POST /api/v1/operator/workspaces/{id}/unblock": ["200", ...OPERATOR_CHANGE_STATUSES],
  "POST /api/v1/operator/workspaces/{id}/credits": ["201", ...OPERATOR_CHANGE_STATUSES],
  "GET /api/v1/operator/workspaces/{id}/credits": OPERATOR_READ_STATUSES,
  "POST /api/v1/operator/workspaces/{id}/sender-ids": ["200", "201", ...OPERATOR_CHANGE_STATUSES],
  "DELETE /api/v1/operator/workspaces/{id}/sender-ids/{name}": ["200", "401", "403", "404", "422", "503"],
  "POST /api/v1/operator/workspaces/{id}/keys": ["201", ...OPERATOR_CHANGE_STATUSES],
  "POST /api/v1/operator/key/rotate": ["200", "400", "401", "403", "413", "415", "503"],
  "GET /api/v1/openapi.json": ["200"],
  "GET /health": ["200"],
  "GET /ready": ["200", "503"],
};

test("every route is there with its answers, a summary and its body as JSON alone", async () => {
  await using pombo = await startInstance();
  const operations = operationsOf(await documentOf(pombo));
  expect(Object.keys(operations).toSorted()).toEqual(Object.keys(ROUTES).toSorted());
  for (const [route, operation] of Object.entries(operations)) {
    expect([route, Object.keys(operation["responses"]).toSorted()]).toEqual([route, (ROUTES[route] ?? []).toSorted()]);
    expect([route, operation["summary"]]).toEqual([route, expect.stringMatching(/^[A-Z].{3,}/)]);
    for (const [status, answer] of Object.entries<Members>(operation["responses"])) {
      expect([route, status, Object.keys(answer["content"])]).toEqual([route, status, ["application/json"]]);
    }
    const hasBody = /^(POST|PATCH) /.test(route) && !/\/(verification-checks|cancel|retry|unblock|rotate)$/.test(route);
    expect([route, operation["requestBody"] !== undefined]).toEqual([route, hasBody]);
    if (hasBody)
      expect([route, Object.keys(operation["requestBody"].content), operation["requestBody"].required]).toEqual([
        route,
        ["application/json"],
        true,
      ]);
  }
  const ids = Object.values(operations).map((operation) => operation["operationId"]);
  expect(new Set(ids).size).toBe(ids.length);
});

test("what needs no key says so, and everything else needs one", async () => {
  for (const creation of ["operator", "open"] as const) {
    await using pombo = await startInstance({ configure: (config) => void (config.workspaces.creation = creation) });
    const document = await documentOf(pombo);
    expect(document["security"]).toEqual([{ apiKey: [] }]);
    expect(document["components"].securitySchemes).toEqual({
      apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
    });
    const open = Object.entries(operationsOf(document)).filter(([, operation]) => operation["security"]?.length === 0);
    const expected = [
      "GET /api/v1/openapi.json",
      "GET /health",
      "GET /ready",
      ...(creation === "open" ? ["POST /api/v1/workspaces"] : []),
    ];
    expect(open.map(([route]) => route).toSorted()).toEqual(expected.toSorted());
  }
});

test("the bounds of the interface are in the document", async () => {
  await using pombo = await startInstance();
  const operations = operationsOf(await documentOf(pombo));
  const send = operations["POST /api/v1/emails"]?.["requestBody"].content["application/json"].schema;
  expect(send).toMatchObject({ type: "object", required: ["from", "to", "subject"], additionalProperties: false });
  expect(Object.keys(send.properties)).toEqual(["from", "to", "subject", "html", "text", "replyTo"]);
  const lengths = Object.entries<Members>(send.properties).map(([name, { minLength, maxLength }]) => [
    name,
    minLength ?? 0,
    maxLength,
  ]);
  expect(lengths).toEqual([
    ["from", 1, 255],
    ["to", 1, 255],
    ["subject", 1, 255],
    ["html", 0, 1_000_000],
    ["text", 0, 100_000],
    ["replyTo", 1, 255],
  ]);
  const batch = operations["POST /api/v1/emails/batch"]?.["requestBody"].content["application/json"].schema;
  expect(batch.properties.emails).toMatchObject({ type: "array", minItems: 1, maxItems: 1000, items: send });
  const query = operations["GET /api/v1/emails"]?.["parameters"].map(({ name, schema }: Json) => [name, schema]);
  expect(query).toEqual([
    ["page", expect.objectContaining({ type: "integer", minimum: 1, default: 1 })],
    ["limit", { type: "integer", minimum: 1, maximum: 100, default: 20 }],
    ["include", { type: "string", enum: ["status"] }],
  ]);
  const headers = operations["POST /api/v1/emails"]?.["parameters"].map(({ name }: Json) => name);
  expect(headers).toEqual(["Idempotency-Key", "Idempotency-Strict"]);
  const status =
    operations["GET /api/v1/emails/{id}"]?.["responses"]["200"].content["application/json"].schema.properties.data
      .properties.status;
  expect(status).toEqual({
    type: "string",
    enum: [
      "queued",
      "sending",
      "delivery_delayed",
      "sent",
      "delivered",
      "bounced",
      "failed",
      "complained",
      "suppressed",
      "canceled",
    ],
  });
});

interface Example {
  route: string;
  status: number;
  path?: string;
  options?: RequestOptions;
}

/** The same for the operator's routes; the last of them replaces the operator key. */
function operatorExamples(pombo: Instance): Example[] {
  const one = "/api/v1/operator/workspaces/{id}";
  const at = (route: string, status: number, body?: unknown): Example => ({
    ...{
      route,
      status,
      path: (route.split(" ")[1] ?? "").replace("{id}", pombo.workspace.id).replace("{name}", "Loja"),
    },
    options: { key: pombo.operator.key, ...(body === undefined ? {} : { body }) },
  });
  return [
    at("GET /api/v1/operator/workspaces", 200),
    at(`GET ${one}`, 200),
    { route: `GET ${one}`, status: 403, path: `/api/v1/operator/workspaces/${UNKNOWN_ID}` },
    at(`PATCH ${one}`, 200, { name: "Loja" }),
    at(`PATCH ${one}`, 422, {}),
    at(`POST ${one}/block`, 200, { reason: "x", hold: true }),
    at(`POST ${one}/block`, 422, { hold: 1 }),
    at(`POST ${one}/unblock`, 200),
    at(`POST ${one}/credits`, 201, { amount: 5 }),
    at(`POST ${one}/credits`, 422, { amount: -6 }),
    at(`GET ${one}/credits`, 200),
    at(`POST ${one}/sender-ids`, 201, { name: "Loja" }),
    at(`POST ${one}/sender-ids`, 200, { name: "Loja" }),
    at(`DELETE ${one}/sender-ids/{name}`, 200),
    at(`DELETE ${one}/sender-ids/{name}`, 404),
    at(`POST ${one}/keys`, 201, { name: "x" }),
    at(`DELETE ${one}`, 200),
    at(`DELETE ${one}`, 404),
    at("POST /api/v1/operator/key/rotate", 200),
  ];
}

/** Requests that together give most of the documented answers. */
function examplesFor(pombo: Instance, ids: { email: string; waiting: string; domain: string }): Example[] {
  const { email, waiting, domain } = ids;
  const one = "/api/v1/emails/{id}";
  const body = (value: unknown) => ({ options: { body: value } });
  const key = { key: pombo.operator.key };
  return [
    { route: "POST /api/v1/emails", status: 202, ...body(pombo.email()) },
    { route: "POST /api/v1/emails", status: 422, ...body({ bcc: 1 }) },
    { route: "POST /api/v1/emails", status: 422, ...body(pombo.email({ from: "a@unknown.test" })) },
    { route: "POST /api/v1/emails", status: 400, options: { rawBody: "{" } },
    { route: "POST /api/v1/emails", status: 401, options: { key: null } },
    { route: "POST /api/v1/emails", status: 403, options: { body: pombo.email(), ...key } },
    { route: "POST /api/v1/emails", status: 415, options: { rawBody: "x", headers: { "content-type": "text/plain" } } },
    { route: "POST /api/v1/emails/batch", status: 202, ...body({ emails: [pombo.email(), pombo.email()] }) },
    { route: "POST /api/v1/emails/batch", status: 422, ...body({ emails: [omit(pombo.email(), "to")] }) },
    { route: "GET /api/v1/emails", status: 200 },
    { route: "GET /api/v1/emails", status: 422, path: "/api/v1/emails?page=0" },
    { route: "GET /api/v1/emails/{id}", status: 200, path: `/api/v1/emails/${email}` },
    { route: "GET /api/v1/emails/{id}", status: 404, path: `/api/v1/emails/${UNKNOWN_ID}` },
    { route: `GET ${one}/events`, status: 200, path: `/api/v1/emails/${email}/events` },
    { route: `GET ${one}/events`, status: 200, path: `/api/v1/emails/${waiting}/events` },
    { route: `GET ${one}/events`, status: 422, path: "/api/v1/emails/x/events" },
    { route: `POST ${one}/retry`, status: 409, path: `/api/v1/emails/${email}/retry` },
    { route: `POST ${one}/retry`, status: 202, path: `/api/v1/emails/${waiting}/retry` },
    { route: `POST ${one}/cancel`, status: 404, path: `/api/v1/emails/${UNKNOWN_ID}/cancel` },
    { route: `POST ${one}/cancel`, status: 409, path: `/api/v1/emails/${email}/cancel` },
    { route: `POST ${one}/cancel`, status: 200, path: `/api/v1/emails/${waiting}/cancel` },
    { route: "POST /api/v1/domains", status: 201, ...body({ domain: "new.test" }) },
    { route: "POST /api/v1/domains", status: 409, ...body({ domain: "new.test" }) },
    { route: "POST /api/v1/domains", status: 413, ...body({ domain: "x".repeat(70_000) }) },
    { route: "GET /api/v1/domains", status: 200 },
    {
      route: "POST /api/v1/domains/{id}/verification-checks",
      status: 200,
      path: `/api/v1/domains/${domain}/verification-checks`,
    },
    {
      route: "POST /api/v1/domains/{id}/verification-checks",
      status: 404,
      path: `/api/v1/domains/${UNKNOWN_ID}/verification-checks`,
    },
    { route: "DELETE /api/v1/domains/{id}", status: 200, path: `/api/v1/domains/${domain}` },
    { route: "POST /api/v1/workspaces", status: 201, options: { body: { name: "x" }, ...key } },
    { route: "POST /api/v1/workspaces", status: 403, ...body({ name: "x" }) },
    { route: "GET /api/v1/workspace/usage", status: 200 },
    { route: "GET /api/v1/workspace/usage", status: 403, options: key },
    { route: "GET /api/v1/workspace/usage", status: 422, path: "/api/v1/workspace/usage?month=2026-11" },
    { route: "POST /api/v1/auth/keys", status: 201, ...body({ name: "x" }) },
    { route: "POST /api/v1/auth/keys", status: 404, ...body({ name: "x", domainId: UNKNOWN_ID }) },
    { route: "GET /api/v1/openapi.json", status: 200 },
    { route: "GET /health", status: 200 },
    { route: "GET /ready", status: 200 },
    // Last: the workspace is gone then.
    ...operatorExamples(pombo),
  ];
}

test("answers of real requests are as documented, of every route", async () => {
  await using pombo = await startInstance({
    mx: {
      rcpt: (command) =>
        command.includes("gone") ? "550 5.1.1 No" : command.includes("later") ? "450 Later" : "250 Ok",
    },
  });
  const operations = operationsOf(await documentOf(pombo));
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "gone@example.com", html: "<p>x" }),
  });
  await pombo.mx.until(() =>
    pombo.mx.connections.some(({ commands }) => commands.some((line) => line.startsWith("RCPT"))),
  );
  await pombo.app.worker.idle();
  const domains = await pombo.workspace.call("GET", "/api/v1/domains");
  const later = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "later@example.com" }),
  });
  await pombo.app.worker.idle();
  const ids = { email: sent.body.data.id, waiting: later.body.data.id, domain: domains.body.data[0].id };
  const examples = examplesFor(pombo, ids);
  for (const { route, status, path, options } of examples) {
    // A retry has the attempt run at once.
    await pombo.app.worker.idle();
    const [method = "", documented = ""] = route.split(" ");
    const answer = await pombo.workspace.call(method, path ?? documented, options);
    expect([route, answer.status]).toEqual([route, status]);
    const schema = operations[route]?.["responses"][status]?.content["application/json"].schema;
    expect([route, status, schema === undefined ? "undocumented" : faultsAgainst(schema, answer.body)]).toEqual([
      route,
      status,
      [],
    ]);
  }
  expect(
    Object.keys(ROUTES).filter((route) => !examples.some((example) => example.route === route && example.status < 300)),
  ).toEqual([]);
});

test("bodies that the document allows are accepted, and what it forbids is refused", async () => {
  await using pombo = await startInstance();
  const schema = operationsOf(await documentOf(pombo))["POST /api/v1/emails"]?.["requestBody"].content[
    "application/json"
  ].schema;
  const bodies = [
    pombo.email(),
    pombo.email({ html: "<p>x", replyTo: "ana@example.com" }),
    omit(pombo.email({ html: "<p>x" }), "text"),
    omit(pombo.email(), "text"),
    omit(pombo.email(), "to"),
    pombo.email({ subject: "" }),
    pombo.email({ subject: "😀".repeat(255) }),
    pombo.email({ subject: "😀".repeat(256) }),
    pombo.email({ text: null }),
    pombo.email({ bcc: "x" }),
  ];
  for (const body of bodies) {
    const isAllowed = faultsAgainst(schema, body).length === 0;
    const { status } = await pombo.workspace.call("POST", "/api/v1/emails", { body });
    expect([body, status]).toEqual([body, isAllowed ? 202 : 422]);
  }
});
