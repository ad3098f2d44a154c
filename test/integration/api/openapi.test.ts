import { validate } from "@apidevtools/swagger-parser";
import { expect, test } from "bun:test";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import { faultsAgainst } from "./json-schema.ts";
import { documentOf, type Members, operationsOf, servedBy } from "./document.ts";
import { isForPeople, KEYED, ROUTES } from "./documented-routes.ts";
import { CATEGORIES } from "../../../src/protocols/smtp/replies/rules.ts";
import { omit } from "../../support/api/kit.ts";

/** Every object in the document with the path to it. */
function* objectsIn(value: Json, path = ""): Generator<[path: string, object: Members]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [path, value];
  for (const [name, member] of Object.entries(value))
    // Examples are values, whose members may be called anything.
    if (name !== "example" && (name !== "examples" || path.endsWith("/properties")))
      yield* objectsIn(member, `${path}/${name}`);
}

test("the document is valid OpenAPI 3.1", async () => {
  await using pombo = await startInstance();
  const document = await servedBy(pombo);
  expect(document["openapi"]).toBe("3.1.0");
  expect(document["info"]).toMatchObject({ title: "pombo", version: "1.0" });
  await validate(structuredClone(document) as never);
  // The validator is no rubber stamp.
  for (const fault of [{ in: "nowhere" }, { examples: ["x"] }, { required: "yes" }]) {
    const broken = structuredClone(document);
    Object.assign(broken["paths"]["/api/v1/emails"].post.parameters[0], fault);
    await expect(validate(broken as never)).rejects.toThrow();
  }
});

test("nothing in the document is TypeBox's own, or what generators of clients stumble over", async () => {
  await using pombo = await startInstance();
  const foreign = [
    "const",
    "nullable",
    "x-default",
    "x-name",
    "x-example",
    "$id",
    "$schema",
    "patternProperties",
    "if",
    "unevaluatedProperties",
    "~kind",
    "error",
  ];
  const faults: string[] = [];
  for (const [path, object] of objectsIn(await servedBy(pombo))) {
    // Members of a request or answer may be called anything.
    if (path.endsWith("/properties")) continue;
    for (const name of Object.keys(object))
      if (foreign.includes(name) || /symbol|pombo|kind$/i.test(name)) faults.push(`${path} has ${name}`);
    // Java cannot compile an enum of booleans.
    const values: unknown[] = Array.isArray(object["enum"]) ? object["enum"] : [];
    if (values.some((value) => typeof value === "boolean")) faults.push(`${path} is an enum of booleans`);
    const isNullable = Array.isArray(object["type"]) && object["type"].includes("null");
    if (values.length > 0 && values.includes(null) !== isNullable) faults.push(`${path} does not list null`);
    // Clients made from a choice of what is required send a half of the body.
    const { anyOf: choices } = object;
    // One, or an array of them, is understood.
    const isUsual = choices?.length === 2 && ["null", "array"].includes(choices[1].type);
    if (choices !== undefined && !isUsual) faults.push(`${path} is a choice`);
  }
  expect(faults).toEqual([]);
});

/** Answers that are not JSON. */
const OTHER_TYPES: Record<string, string[]> = {
  "GET /docs 200": ["text/html"],
  "GET /api/v1/emails/{id}/attachments/{n} 200": ["application/octet-stream", "*/*"],
  "GET /api/v1/emails/{id}/raw 200": ["application/octet-stream", "message/rfc822"],
  "GET /api/v1/workspace/live 200": ["text/event-stream"],
  "GET /api/v1/emails/{id}/live 200": ["text/event-stream"],
  "GET /api/v1/suppressions.csv 200": ["text/csv"],
  "GET /api/v1/emails.csv 200": ["text/csv"],
  "GET /api/v1/domains/{id}/zone 200": ["text/dns"],
};

test("every route is there with its answers, a summary and its body as JSON alone", async () => {
  await using pombo = await startInstance();
  const operations = Object.fromEntries(
    Object.entries(operationsOf(await documentOf(pombo))).filter(([route]) => !isForPeople(route)),
  );
  expect(Object.keys(operations).toSorted()).toEqual(Object.keys(ROUTES).toSorted());
  for (const [route, operation] of Object.entries(operations)) {
    const ofKeys = operation["security"]?.length === 0 ? [] : KEYED;
    const named = ROUTES[route] ?? [];
    const ofBodies = named.includes("413") ? ["408", "503"] : [];
    const expected = [...new Set([...ofKeys, ...ofBodies, ...named])];
    expect([route, Object.keys(operation["responses"]).toSorted()]).toEqual([route, expected.toSorted()]);
    expect([route, operation["summary"]]).toEqual([route, expect.stringMatching(/^[A-Z].{3,}/)]);
    for (const [status, answer] of Object.entries<Members>(operation["responses"])) {
      const types = OTHER_TYPES[`${route} ${status}`] ?? ["application/json"];
      expect([route, status, Object.keys(answer["content"])]).toEqual([route, status, types]);
    }
    const hasBody =
      /^(POST|PATCH) /.test(route) &&
      !/\/(verification-checks|cancel|(?<!queue\/)retry|unblock|resume|rotate|reset|dashboard-link|test|replay|resend|share|renew|doctor|kept)$/.test(
        route,
      );
    expect([route, operation["requestBody"] !== undefined]).toEqual([route, hasBody]);
    if (hasBody)
      expect([route, Object.keys(operation["requestBody"].content), operation["requestBody"].required]).toEqual([
        route,
        ["application/json"],
        true,
      ]);
  }
});

test("answers have their headers, each described once", async () => {
  await using pombo = await startInstance();
  const document = await servedBy(pombo);
  const known = Object.keys(document["components"].headers);
  const seen = new Set<string>();
  for (const [route, operation] of Object.entries(operationsOf(document))) {
    if (isForPeople(route)) continue;
    const isKeyed = operation["security"]?.length !== 0;
    const isRepeatable = operation["parameters"]?.some(({ name }: Json) => name === "Idempotency-Key") === true;
    for (const [status, answer] of Object.entries<Members>(operation["responses"])) {
      const names = Object.keys(answer["headers"]);
      for (const { $ref } of Object.values<{ $ref: string }>(answer["headers"])) seen.add($ref.split("/").at(-1) ?? "");
      expect([route, status, names.toSorted()]).toEqual([
        route,
        status,
        [
          "X-Request-Id",
          ...(isKeyed ? ["RateLimit", "RateLimit-Policy"] : []),
          ...(isKeyed && ["402", "429", "503"].includes(status) ? ["Retry-After"] : []),
          ...(isKeyed && status === "401" ? ["WWW-Authenticate"] : []),
          ...(isRepeatable && status === "202" ? ["Idempotent-Replayed", "Idempotency-Mismatch"] : []),
        ].toSorted(),
      ]);
    }
  }
  expect([...seen].toSorted()).toEqual(known.toSorted());
});

test("what needs no key says so, and everything else needs one", async () => {
  for (const creation of ["operator", "open"] as const) {
    await using pombo = await startInstance({ configure: (config) => void (config.workspaces.creation = creation) });
    const document = await documentOf(pombo);
    expect(document["security"]).toEqual([{ apiKey: [] }]);
    const key = { type: "apiKey", in: "header", name: "X-API-Key", description: expect.any(String) };
    expect(document["components"].securitySchemes).toEqual({
      apiKey: key,
      operatorKey: key,
      sessionCookie: { type: "apiKey", in: "cookie", name: "pombo-session", description: expect.any(String) },
    });
    const open = Object.entries(operationsOf(document))
      .filter(([route]) => !isForPeople(route))
      .filter(([, operation]) => operation["security"]?.length === 0);
    const expected = [
      "GET /api/v1/openapi.json",
      "GET /docs",
      "GET /health",
      "GET /ready",
      ...(creation === "open" ? ["POST /api/v1/workspaces"] : []),
    ];
    expect(open.map(([route]) => route).toSorted()).toEqual(expected.toSorted());
  }
});

const EMAIL_STATUSES = [
  "scheduled",
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
];

test("the bounds of the interface are in the document", async () => {
  await using pombo = await startInstance();
  const operations = operationsOf(await documentOf(pombo));
  const send = operations["POST /api/v1/emails"]?.["requestBody"].content["application/json"].schema;
  expect(send).toMatchObject({ type: "object", required: ["from", "to", "subject"], additionalProperties: false });
  expect(Object.keys(send.properties)).toEqual(
    "from to cc bcc subject html text replyTo headers tag metadata unsubscribe sendAt attachments".split(" "),
  );
  // Of what may be one or an array, the one.
  const lengths = Object.entries<Members>(send.properties).map(([name, member]) => {
    const { minLength, maxLength } = (member["anyOf"] as Members[] | undefined)?.[0] ?? member;
    return [name, minLength ?? 0, maxLength];
  });
  expect(lengths).toEqual([
    ["from", 1, 255],
    ["to", 1, 255],
    ["cc", 1, 255],
    ["bcc", 1, 255],
    ["subject", 1, 255],
    ["html", 0, 1_000_000],
    ["text", 0, 100_000],
    ["replyTo", 1, 255],
    ["headers", 0, undefined],
    ["tag", 0, 64],
    ["metadata", 0, undefined],
    ["unsubscribe", 0, undefined],
    ["sendAt", 0, 40],
    ["attachments", 0, undefined],
  ]);
  expect(send.properties.attachments.maxItems).toBe(50);
  const counts = ["to", "cc", "bcc", "replyTo"].map((name) => {
    const { minItems, maxItems } = send.properties[name].anyOf[1];
    return [minItems, maxItems];
  });
  expect(counts).toEqual([...Array.from({ length: 3 }, () => [1, 50]), [1, 10]]);
  expect([send.properties.headers.maxProperties, send.properties.metadata.maxProperties]).toEqual([25, 20]);
  const batch = operations["POST /api/v1/emails/batch"]?.["requestBody"].content["application/json"].schema;
  expect(batch.properties.emails).toMatchObject({ type: "array", minItems: 1, maxItems: 1000, items: send });
  const query = operations["GET /api/v1/emails"]?.["parameters"].map(({ name, schema }: Json) => [name, schema]);
  expect(query).toEqual([
    ["page", expect.objectContaining({ type: "integer", minimum: 1, default: 1 })],
    ["limit", { type: "integer", minimum: 1, maximum: 100, default: 20 }],
    ["status", { type: "string", enum: EMAIL_STATUSES }],
    ["to", { type: "string", format: "email", minLength: 1, maxLength: 255 }],
    ["from", { type: "string", format: "email", minLength: 1, maxLength: 255 }],
    ["tag", expect.objectContaining({ type: "string", maxLength: 64 })],
    ["groupId", { type: "string", format: "uuid" }],
    ["since", expect.objectContaining({ type: "string", format: "date-time" })],
    ["until", expect.objectContaining({ type: "string", format: "date-time" })],
    ["domain", expect.objectContaining({ type: "string", minLength: 1, maxLength: 255 })],
    ["category", { type: "string", enum: [...CATEGORIES] }],
    ["subject", expect.objectContaining({ type: "string", minLength: 1, maxLength: 255 })],
    ["cursor", expect.objectContaining({ type: "string", minLength: 1, maxLength: 512 })],
    ["include", { type: "string", enum: ["status"] }],
  ]);
  const list = operations["GET /api/v1/emails"]?.["responses"]["200"].content["application/json"].schema;
  expect(Object.keys(list.properties.meta.properties)).toEqual([
    "total",
    "perPage",
    "page",
    "lastPage",
    "totalIsMinimum",
    "has_more",
    "next_cursor",
  ]);
  expect(list.properties.meta.required).toEqual(["total", "perPage", "page", "lastPage"]);
  const headers = operations["POST /api/v1/emails"]?.["parameters"].map(({ name }: Json) => name);
  expect(headers).toEqual(["Idempotency-Key", "Idempotency-Strict"]);
  const status =
    operations["GET /api/v1/emails/{id}"]?.["responses"]["200"].content["application/json"].schema.properties.data
      .properties.status;
  expect(status).toMatchObject({ type: "string", enum: EMAIL_STATUSES });
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
    pombo.email({ bcc: [] }),
    pombo.email({ blindCopy: "x@example.com" }),
    pombo.email({ to: ["a@example.com", "Ana <b@example.com>"], cc: "c@example.com", bcc: ["d@example.com"] }),
    pombo.email({ to: Array.from({ length: 51 }, (_, index) => `r${index}@example.com`) }),
    pombo.email({ headers: { "X-A": "1" }, metadata: { a: "b" }, tag: "receipt:1" }),
    pombo.email({ tag: "a b" }),
    pombo.email({ metadata: "x" }),
  ];
  for (const body of bodies) {
    // That one of the two must be there stands in words: a schema that says it makes clients that cannot send.
    const isAllowed = faultsAgainst(schema, body).length === 0 && ("html" in body || "text" in body);
    const { status } = await pombo.workspace.call("POST", "/api/v1/emails", { body });
    expect([body, status]).toEqual([body, isAllowed ? 202 : 422]);
  }
});
