import { dereference } from "@apidevtools/swagger-parser";
import { expect, test } from "bun:test";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";

// What the document has in common for every operation (src/api/docs/document.ts).

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
    "SMTP",
    "Lists",
    "Webhooks",
    "Rate limits",
  ]);
  expect(document.servers).toEqual([{ url: "/", description: expect.any(String) }]);
  const calls = Object.values<Json>(document.webhooks).flatMap(({ post }) => post.tags);
  const used = new Set([...(await operationsOf(document)).flatMap(({ value }) => value.tags), ...calls]);
  const told = document.tags.map(({ name }: Json) => name);
  // A tag of a new route: add what it is for to TAGS in src/api/docs/introduction.ts.
  expect([...used].toSorted()).toEqual(told.toSorted());
  for (const { description } of document.tags) expect(description).toMatch(/^[A-Z].{20,}\.$/);
});

/** What operations begin with, by method. A name stays for good: generated clients call it. */
const VERBS: Record<string, RegExp> = {
  GET: /^(get|list|find|trace|export)[A-Z]/,
  POST: /^(create|send|preview|cancel|retry|check|test|rotate|replay|recover|grant|renew|block|unblock|import|apply|drop|pause|resume|start|resend|sign|inspect|use|prove|confirm)[A-Z]/,
  PATCH: /^update[A-Z]/,
  PUT: /^(set|confirm)[A-Z]/,
  DELETE: /^(delete|stop|sign|end)[A-Z]/,
};

test("every operation has a speaking name that is its own, with a verb for its method", async () => {
  await using pombo = await startInstance();
  const document = await servedBy(pombo);
  const names: string[] = [];
  for (const { route, value } of await operationsOf(document)) {
    expect([route, value.operationId]).toEqual([route, expect.stringMatching(VERBS[route.split(" ")[0] ?? ""] ?? /x/)]);
    expect([route, value.operationId]).toEqual([route, expect.stringMatching(/^[a-z][A-Za-z]+$/)]);
    names.push(value.operationId);
  }
  names.push(...Object.values<Json>(document.webhooks).map(({ post }) => post.operationId));
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(
    expect.arrayContaining(
      "sendEmail sendEmailBatch listEmails getEmail cancelEmail sendSms listSms getSms createDomain createWebhook getUsage".split(
        " ",
      ),
    ),
  );
});

test("operations, parameters, answers and members say what they are", async () => {
  await using pombo = await startInstance();
  const document = await servedBy(pombo);
  const silent: string[] = [];
  const look = (place: string, words: unknown) => {
    if (typeof words !== "string" || words.length < 4) silent.push(place);
  };
  for (const { route, value } of await operationsOf(document)) {
    look(route, value.description);
    for (const { name, description } of value.parameters ?? []) look(`${route} ${name}`, description);
    for (const [status, { description }] of Object.entries<Json>(value.responses))
      look(`${route} ${status}`, description);
  }
  for (const [name, { post }] of Object.entries<Json>(document.webhooks)) look(name, post.description);
  // A member of a new schema: describe it there, or in src/api/docs/descriptions.ts if it means the same everywhere.
  for (const [path, name, schema] of membersIn({ paths: document.paths, schemas: document.components.schemas }))
    if (schema.$ref === undefined) look(`${path}: ${name}`, schema.description);
  expect(silent).toEqual([]);
});

/** Every member of every schema. */
function* membersIn(value: Json, path = ""): Generator<[path: string, name: string, schema: Json]> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries<Json>(value)) {
    if (name === "example" || name === "examples") continue;
    if (name === "properties" && !path.endsWith("/properties"))
      for (const [member, schema] of Object.entries<Json>(inner)) yield [path, member, schema];
    yield* membersIn(inner, `${path}/${name}`);
  }
}

test("what is sent and answered has a name, and stands in the document once", async () => {
  await using pombo = await startInstance();
  const document = await servedBy(pombo);
  const known = Object.keys(document.components.schemas);
  expect(known).toEqual(
    expect.arrayContaining(
      "ApiKey Bounce Domain Email EmailListItem Error Errors Sms Suppression Usage Webhook WebhookDelivery WebhookEvent".split(
        " ",
      ),
    ),
  );
  for (const [path, methods] of Object.entries<Json>(document.paths)) {
    for (const [method, { requestBody, responses }] of Object.entries<Json>(methods)) {
      const holders = [requestBody, ...Object.values<Json>(responses)];
      const schemas = holders.flatMap((holder) => holder?.content["application/json"]?.schema ?? []);
      // The document itself, and the last test of a link, which may be null.
      if (path === "/api/v1/openapi.json" || (path.endsWith("/sms/trial") && method !== "post")) continue;
      for (const { $ref } of schemas) expect([path, method, $ref]).toEqual([path, method, expect.any(String)]);
    }
  }
});

test("answers may have more members one day, and always have their request's id", async () => {
  await using pombo = await startInstance();
  for (const { route, value } of await operationsOf(await servedBy(pombo))) {
    for (const [status, response] of Object.entries<Json>(value.responses)) {
      const place = `${route} ${status}`;
      expect([place, response.headers["X-Request-Id"]?.required]).toEqual([place, true]);
      const [{ schema }] = Object.values<Json>(response.content);
      for (const [, inner] of valuesOf(schema)) {
        const isOpen = inner?.type === "object" && Object.keys(inner.properties ?? {}).length > 0;
        // What generators make of a closed schema fails on the first member that is added.
        if (isOpen) expect([place, inner.additionalProperties]).toEqual([place, undefined]);
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
    const examples = JSON.stringify([...valuesOf(paths)].filter(([name]) => name === "example" || name === "examples"));
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
