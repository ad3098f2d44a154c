import { dereference } from "@apidevtools/swagger-parser";
import { expect, test } from "bun:test";
import { type Instance, type Json, startInstance } from "../fakes/instance.ts";

// What the document has in common for every operation (src/docs/complete.ts).

async function servedBy(pombo: Instance): Promise<Json> {
  return (await pombo.workspace.call("GET", "/api/v1/openapi.json", { key: null })).body;
}

interface Operation {
  route: string;
  path: string;
  value: Json;
}

async function operationsOf(served: Json): Promise<Operation[]> {
  const document = (await dereference(structuredClone(served))) as Json;
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, value]) => ({ route: `${method.toUpperCase()} ${path}`, path, value })),
  );
}

function* valuesOf(value: Json, name = ""): Generator<[name: string, value: Json]> {
  yield [name, value];
  if (typeof value !== "object" || value === null) return;
  for (const [member, inner] of Object.entries<Json>(value)) yield* valuesOf(inner, member);
}

test("a newcomer is told of keys, errors, repeating, lists and limits, and what each tag is for", async () => {
  await using pombo = await startInstance();
  const document = await servedBy(pombo);
  const headings = [...document.info.description.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual([
    "The sandbox",
    "Authentication",
    "Requests and answers",
    "Errors",
    "Sending once",
    "Lists",
    "Rate limits",
  ]);
  expect(document.servers).toEqual([{ url: "/", description: expect.any(String) }]);
  const used = new Set((await operationsOf(document)).flatMap(({ value }) => value.tags));
  const told = document.tags.map(({ name }: Json) => name);
  // A tag of a new route: add what it is for to TAGS in src/docs/words.ts.
  expect([...used].toSorted()).toEqual(told.toSorted());
  for (const { description } of document.tags) expect(description).toMatch(/^[A-Z].{20,}\.$/);
});

test("every operation has a name that a program can have, and it is its own", async () => {
  await using pombo = await startInstance();
  const names = (await operationsOf(await servedBy(pombo))).map(({ value }) => value.operationId);
  for (const name of names) expect(name).toMatch(/^(get|post|put|patch|delete)[A-Z][A-Za-z0-9]*$/);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain("postEmailsByIdCancel");
});

test("answers name every member that they have, and always their request's id", async () => {
  await using pombo = await startInstance();
  for (const { route, value } of await operationsOf(await servedBy(pombo))) {
    for (const [status, response] of Object.entries<Json>(value.responses)) {
      const place = `${route} ${status}`;
      expect([place, response.headers["X-Request-Id"]?.required]).toEqual([place, true]);
      const { schema } = response.content["application/json"] ?? response.content["text/html"];
      for (const [, inner] of valuesOf(schema)) {
        const isOpen = inner?.type === "object" && Object.keys(inner.properties ?? {}).length > 0;
        if (isOpen) expect([place, inner.additionalProperties]).toEqual([place, false]);
      }
    }
  }
});

test("what says that it takes a key takes it, and what says that it takes none asks for none", async () => {
  await using pombo = await startInstance();
  for (const { route, value, path } of await operationsOf(await servedBy(pombo))) {
    const [method = ""] = route.split(" ");
    const call = (key: string | null) => pombo.workspace.call(method, path.replaceAll(/\{\w+\}/g, "x"), { key });
    const security: Json[] = value.security ?? [{ apiKey: [] }];
    const kinds = security.flatMap((each) => Object.keys(each));
    expect([route, (await call(null)).status === 401]).toEqual([route, kinds.length > 0]);
    expect([route, kinds.length === 0 || value.responses["401"] !== undefined]).toEqual([route, true]);
    // Without a body nothing is made: what a key may do comes out in 400 and 422 before that.
    if (LEAVES_NO_KEY.test(path) || kinds.length === 0) continue;
    const byOperator = await call(pombo.operator.key);
    expect([route, byOperator.status === 403]).toEqual([route, !kinds.includes("operatorKey")]);
  }
});

/** Calling it would take the key away that the others need. */
const LEAVES_NO_KEY = /\/key\/rotate$/;

test("an answer's links lead to operations that take what they hand over", async () => {
  await using pombo = await startInstance();
  const operations = await operationsOf(await servedBy(pombo));
  const byName = new Map(operations.map((operation) => [operation.value.operationId, operation]));
  const seen: string[] = [];
  for (const { route, value } of operations) {
    for (const response of Object.values<Json>(value.responses)) {
      for (const { operationId, parameters } of Object.values<Json>(response.links ?? {})) {
        const target = byName.get(operationId);
        const taken = target?.value.parameters.filter((one: Json) => one.in === "path").map((one: Json) => one.name);
        expect([route, operationId, Object.keys(parameters).toSorted()]).toEqual([
          route,
          operationId,
          taken.toSorted(),
        ]);
        seen.push(`${route} → ${target?.route}: ${parameters.id}`);
      }
    }
  }
  expect(seen).toContain("POST /api/v1/emails → GET /api/v1/emails/{id}: $response.body#/data/id");
  expect(seen).toContain("POST /api/v1/emails/batch → GET /api/v1/emails/{id}: $response.body#/data/0/id");
  expect(seen).toContain("POST /api/v1/domains → DELETE /api/v1/domains/{id}: $response.body#/data/id");
});

test("the examples send from the domain that the instance was given, or from example.com", async () => {
  for (const exampleDomain of ["sandbox.test", undefined]) {
    await using pombo = await startInstance(exampleDomain === undefined ? {} : { exampleDomain });
    const { paths } = await servedBy(pombo);
    const examples = JSON.stringify([...valuesOf(paths)].filter(([name]) => name === "example"));
    expect(examples.includes("example.com")).toBe(exampleDomain === undefined);
    expect(examples).toContain(`Loja <loja@${exampleDomain ?? "example.com"}>`);
    expect(examples).toContain(`"news.${exampleDomain ?? "example.com"}"`);
  }
});

test("a repeated send says so in the headers that the document names", async () => {
  await using pombo = await startInstance();
  const headers = { "Idempotency-Key": "order-1" };
  const send = (changes: object) =>
    pombo.workspace.call("POST", "/api/v1/emails", { body: { ...pombo.email(), ...changes }, headers });
  await send({});
  const again = await send({ subject: "Another" });
  const operation = (await operationsOf(await servedBy(pombo))).find(({ route }) => route === "POST /api/v1/emails");
  const documented = operation?.value.responses["202"].headers;
  for (const name of ["Idempotent-Replayed", "Idempotency-Mismatch"])
    expect([name, again.headers.get(name), documented[name]?.schema]).toEqual([
      name,
      "true",
      { type: "string", enum: ["true"] },
    ]);
});

test("a plan that a body may name is one of those that are configured", async () => {
  await using pombo = await startInstance();
  const operation = (await operationsOf(await servedBy(pombo))).find(
    ({ route }) => route === "POST /api/v1/workspaces",
  );
  const plan = operation?.value.requestBody.content["application/json"].schema.properties.plan;
  expect(plan?.enum).toEqual(Object.keys(pombo.config.plans));
});
