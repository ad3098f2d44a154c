import { dereference } from "@apidevtools/swagger-parser";
import { expect, test } from "bun:test";
import { type Caller, LAST, seed, type World } from "../../e2e/contract/seeds.ts";
import {
  type Client,
  type Instance,
  type Json,
  SENDING_DOMAIN,
  startInstance,
  useAbsentAuthority,
  useAlerts,
} from "../../support/fakes/instance.ts";
import { mail } from "../../support/dsn/mails.ts";
import { inboundMessage } from "../../support/inbound/messages.ts";
import { addPerson } from "../../support/people/member.ts";
import { withPublicUrl } from "../../support/unsubscribe/kit.ts";
import { isForPeople } from "./documented-routes.ts";
import { faultsAgainst } from "./json-schema.ts";

// Every operation of the document, called as a reader would who copies its example.

interface Operation {
  route: string;
  method: string;
  path: string;
  value: Json;
}

async function operationsOf(pombo: Instance): Promise<Operation[]> {
  const { body } = await pombo.workspace.call("GET", "/api/v1/openapi.json", { key: null });
  const document = (await dereference(body)) as Json;
  const all = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([name, value]) => {
      const method = name.toUpperCase();
      return { route: `${method} ${path}`, method, path, value };
    }),
  );
  return [...all.filter(({ route }) => !LAST.has(route)), ...all.filter(({ route }) => LAST.has(route))];
}

/** A body and the parameters of the path, as the document shows them. */
async function requestOf({ route, path, value }: Operation, world: World): Promise<{ path: string; body?: unknown }> {
  const parameters = await seed(route, world);
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ""));
  if (value.requestBody === undefined) return { path: filled };
  const body = value.requestBody.content["application/json"].example;
  if (body === undefined)
    throw new Error(
      `${route} has no example of its body: give its schema \`examples: [{…}]\`, or every required member of it one, with example.com for a domain of the reader's.`,
    );
  return { path: filled, body };
}

function callerOf(client: Client): Caller {
  return { call: (method, path, body) => client.call(method, path, body === undefined ? {} : { body }) };
}

test("the example of every operation works as it stands, and is answered as documented", async () => {
  await using pombo = await startInstance({
    exampleDomain: SENDING_DOMAIN,
    configure(config) {
      useAbsentAuthority(config);
      useAlerts(config);
    },
  });
  const world: World = {
    workspace: callerOf(pombo.workspace),
    operator: callerOf(pombo.operator),
    workspaceId: pombo.workspace.id,
    domain: SENDING_DOMAIN,
    addMember: async () => addPerson(pombo, { role: "viewer" }).id,
    bringMail: () => pombo.app.receive(inboundMessage(mail({ text: "Hello" }))),
  };
  await pombo.enableSms(pombo.workspace);
  const operations = await operationsOf(pombo);
  expect(operations.length).toBeGreaterThan(10);
  for (const operation of operations) {
    const { route, method, value } = operation;
    // A stream does not end.
    if (isForPeople(route) || route.endsWith("/live")) continue;
    const { path, body } = await requestOf(operation, world);
    const isOpen = value.security?.length === 0;
    const client = value.security?.[0]?.operatorKey === undefined ? pombo.workspace : pombo.operator;
    const answer = await client.call(method, path, {
      ...(isOpen ? { key: null } : {}),
      ...(body === undefined ? {} : { body }),
    });
    const successes = Object.keys(value.responses).filter((status) => status.startsWith("2"));
    expect([route, body, answer.text, successes]).toEqual([
      route,
      body,
      answer.text,
      expect.arrayContaining([String(answer.status)]),
    ]);
    const { "application/json": json, ...others } = value.responses[answer.status].content;
    const { schema } = json ?? Object.values<Json>(others)[0];
    const faults = faultsAgainst(schema, json === undefined ? answer.text : answer.body);
    expect([route, faults]).toEqual([route, []]);
    // What is shown as the answer is like the one that came: the same members, and for a POST the same outcome.
    if (json === undefined || route === "GET /api/v1/openapi.json") continue;
    // The detail of an audit's row depends on what was done.
    if (route === "GET /api/v1/workspace/audit") for (const row of answer.body.data) row.detail = null;
    // What went wrong with a record is there where something did.
    for (const record of answer.body.data?.dns?.dkim ?? [])
      for (const name of ["mistake", "foundAt"]) delete record[name];
    expect([route, differencesOf(json.example, answer.body, method === "POST")]).toEqual([route, []]);
    if (route === "POST /api/v1/sms/preview") expect(json.example).toEqual(answer.body);
  }
  expect(pombo.bugs).toEqual([]);
}, 30_000);

/** Members that only come with something to say. */
const NOW_AND_THEN = ["hint", "status", "found", "totalIsMinimum"];

/** Where an answer has members that its example does not have, or the other way round. */
function differencesOf(example: Json, answer: Json, isOutcome: boolean, path = "$"): string[] {
  if (Array.isArray(example) && Array.isArray(answer))
    return example.length === 0 || answer.length === 0 ? [] : differencesOf(example[0], answer[0], false, `${path}[0]`);
  if (typeof example !== "object" || typeof answer !== "object" || example === null || answer === null) return [];
  const faults = [...new Set([...Object.keys(example), ...Object.keys(answer)])]
    .filter((name) => name in example !== name in answer && !NOW_AND_THEN.includes(name))
    .map((name) => `${path}.${name} is in the ${name in example ? "example" : "answer"} alone`);
  if (isOutcome && "status" in example && example.status !== answer.status)
    faults.push(`${path}.status is ${answer.status}, in the example ${example.status}`);
  const both = Object.keys(example).filter((name) => name in answer);
  return [
    ...faults,
    ...both.flatMap((name) => differencesOf(example[name], answer[name], isOutcome, `${path}.${name}`)),
  ];
}

test("every answer of JSON has an example, and examples fit the schemas beside them", async () => {
  await using pombo = await startInstance();
  let found = 0;
  for (const { route, value } of await operationsOf(pombo)) {
    for (const [status, { content }] of Object.entries<Json>(value.responses)) {
      const isShown = content["application/json"]?.example !== undefined;
      // The document itself is one.
      const isNeeded = content["application/json"] !== undefined && route !== "GET /api/v1/openapi.json";
      if (isNeeded) expect([route, status, isShown]).toEqual([route, status, true]);
    }
    const contents = [value.requestBody, ...Object.values<Json>(value.responses)].map((holder) => holder?.content);
    for (const content of contents) {
      const json = content?.["application/json"];
      if (json?.example === undefined) continue;
      expect([route, faultsAgainst(json.schema, json.example)]).toEqual([route, []]);
      found += 1;
    }
  }
  expect(found).toBeGreaterThan(20);
});

test("each example of a member of an email works as it stands, beside those that it needs", async () => {
  await using pombo = await startInstance({ exampleDomain: SENDING_DOMAIN, configure: withPublicUrl });
  const operations = await operationsOf(pombo);
  const content = operations.find(({ route }) => route === "POST /api/v1/emails")?.value.requestBody.content;
  const { schema, example } = content["application/json"];
  const tried: string[] = [];
  const send = async (name: string, value: unknown) => {
    const { status, text } = await pombo.workspace.call("POST", "/api/v1/emails", {
      body: { ...example, [name]: value },
    });
    expect([name, value, status, text]).toEqual([name, value, 202, expect.any(String)]);
    tried.push(name);
  };
  for (const [name, member] of Object.entries<Json>(schema.properties))
    for (const value of member.examples ?? []) await send(name, value);
  const file = Object.entries<Json>(schema.properties.attachments.items.properties);
  await send("attachments", [Object.fromEntries(file.map(([name, member]) => [name, member.examples[0]]))]);
  expect(tried).toEqual(
    expect.arrayContaining(["to", "cc", "bcc", "replyTo", "headers", "tag", "metadata", "unsubscribe", "sendAt"]),
  );
});
