// The OpenAPI 3.1 document, written from the routes.

import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { DEFAULT_SMS_PREFIXES } from "../../config/number-prefix.ts";
import { EXAMPLE_SEND_AT } from "../../modules/emails/api/send-at.ts";
import { NumberingPlan } from "../../modules/sms/encoding/phone-number.ts";
import type { BodyLimits } from "../../platform/http/body/read.ts";
import { ANSWER_HEADERS } from "../../platform/http/openapi.ts";
import { addDescriptions } from "./descriptions.ts";
import { errorExample } from "./error-examples.ts";
import { EVENT_PAYLOADS } from "./event-payloads.ts";
import { EVENT_TAG, buildEventOperations } from "./events.ts";
import { buildExample, buildAnswerExample } from "./examples.ts";
import { buildSecuritySchemes, DESCRIPTION, INFO, REPLAY_HEADERS, TAGS } from "./introduction.ts";
import { getMembers, isExample, isMembers, type Json, mapMembers, type Members } from "./json.ts";
import { findLinks, type Operation } from "./links.ts";
import { simplifySchemas } from "./schemas.ts";

// @elysiajs/swagger writes out what the routes say. Added here is what all operations have in common: the key that
// each takes, an example of its body and of each answer, where one leads to the next. Schemas with a name are
// written once.

export interface DocumentOptions {
  /** Stands in the examples where the routes' schemas say example.com: a domain that the reader can send from. */
  exampleDomain: string;
  /** For the numbers in the examples. */
  numbering: Pick<NumberingPlan, "example" | "expected">;
  /** What a request's `plan` may be. */
  planNames: string[];
  /** Largest bodies, in bytes. */
  bodyLimits: BodyLimits;
  /** The name of the cookie of a session. */
  sessionCookie: string;
  /** Paths that take the operator key. */
  isForOperator(path: string): boolean;
}

/** As the routes' schemas say them. */
const EXAMPLE_DOMAIN = "example.com";
const EXAMPLE_NUMBERING = new NumberingPlan(DEFAULT_SMS_PREFIXES);
const DAY_MS = 24 * 60 * 60_000;
const METHODS = new Set(["get", "put", "post", "delete", "patch"]);

const SPEC_PATH = "/openapi.json";

async function readRoutes(routes: AnyElysia[]): Promise<Members> {
  const reader = new Elysia({ aot: false }).use(
    swagger({
      path: "/swagger",
      specPath: SPEC_PATH,
      // It takes openapi.json itself for a file.
      excludeStaticFile: false,
      exclude: [SPEC_PATH],
      documentation: {
        info: { title: "pombo", version: "1.0" },
        components: { headers: ANSWER_HEADERS },
        security: [{ apiKey: [] }],
      },
    }),
  );
  for (const each of routes) reader.use(each);
  const response = await reader.handle(new Request(`http://localhost${SPEC_PATH}`));
  return { ...((await response.json()) as Members), openapi: "3.1.0" };
}

export async function writeDocument(routes: AnyElysia[], options: DocumentOptions): Promise<Json> {
  const { exampleDomain, numbering } = options;
  const document = getMembers(addDescriptions(simplifySchemas(await readRoutes(routes))));
  const operations = listOperations(document);
  const tags = new Set<Json>([EVENT_TAG]);
  for (const { value, path, method } of operations) {
    for (const tag of Array.isArray(value["tags"]) ? value["tags"] : []) tags.add(tag);
    if (value["security"] === undefined && options.isForOperator(path)) value["security"] = [{ operatorKey: [] }];
    setPlanNames(value, options.planNames);
    addBodyExample(value);
    const parameters = Array.isArray(value["parameters"]) ? value["parameters"] : [];
    const isRepeatable = parameters.some((parameter) => getMembers(parameter)["name"] === "Idempotency-Key");
    const { "x-example": data } = value;
    delete value["x-example"];
    for (const [status, response] of Object.entries(getMembers(value["responses"]))) {
      const place = { route: `${method.toUpperCase()} ${path}`, status: Number(status), isRepeatable, data };
      if (isMembers(response)) completeResponse(response, place, options.bodyLimits);
    }
  }
  for (const operation of operations) addLinks(operation, operations);
  const { webhooks, callback } = buildEventOperations(EVENT_PAYLOADS);
  for (const { value } of operations) if (value["operationId"] === "createWebhook") value["callbacks"] = callback;
  const schemas: Members = {};
  const { paths, webhooks: named } = getMembers(
    moveNamedSchemas({ paths: document["paths"] ?? {}, webhooks: addDescriptions(webhooks) }, schemas),
  );
  const whole = {
    ...document,
    info: {
      ...getMembers(document["info"]),
      ...INFO,
      description: DESCRIPTION.replaceAll(EXAMPLE_NUMBERING.example, numbering.example),
    },
    servers: [{ url: "/", description: "This instance" }],
    tags: TAGS.filter(({ name }) => tags.has(name)).map((tag) => ({ ...tag })),
    components: {
      securitySchemes: buildSecuritySchemes(options.sessionCookie),
      headers: { ...getMembers(getMembers(document["components"])["headers"]), ...REPLAY_HEADERS },
      schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
    paths: paths ?? {},
    webhooks: named ?? {},
  };
  return replaceInExamples(whole, [
    [EXAMPLE_DOMAIN, exampleDomain],
    [EXAMPLE_NUMBERING.expected, numbering.expected],
    [EXAMPLE_NUMBERING.example, numbering.example],
  ]);
}

/** The document with a time in its examples that lies ahead of `now`, so that they work as they stand. */
export function setExampleTimes(document: Json, now: number): Json {
  return replaceInExamples(document, [[EXAMPLE_SEND_AT, new Date(now + DAY_MS).toISOString()]]);
}

function listOperations(document: Members): Operation[] {
  return Object.entries(getMembers(document["paths"])).flatMap(([path, methods]) =>
    Object.entries(getMembers(methods)).flatMap(([method, value]) =>
      METHODS.has(method) && isMembers(value) ? [{ method, path, value }] : [],
    ),
  );
}

/** The JSON that a request or response is described by; null: it has no body of JSON. */
function getJson(holder: Json | undefined): Members | null {
  const json = getMembers(getMembers(holder)["content"])["application/json"];
  return isMembers(json) ? json : null;
}

/** A plan in a body is one of those that this instance is configured with. */
function setPlanNames(operation: Members, planNames: string[]): void {
  const schema = getMembers(getJson(operation["requestBody"])?.["schema"]);
  const plan = getMembers(schema["properties"])["plan"];
  if (isMembers(plan)) plan["enum"] = planNames;
}

/** The whole body, so that it can be sent as it stands. */
function addBodyExample(operation: Members): void {
  const json = getJson(operation["requestBody"]);
  const example = json === null ? undefined : buildExample(getMembers(json["schema"]));
  if (json !== null && example !== undefined) json["example"] = example;
}

interface Place {
  /** As in `POST /api/v1/emails`. */
  route: string;
  status: number;
  /** It takes an Idempotency-Key. */
  isRepeatable: boolean;
  /** What the route says of its example's data. */
  data: Json | undefined;
}

function completeResponse(response: Members, place: Place, limits: BodyLimits): void {
  const { route, status, isRepeatable, data } = place;
  if (status === 202 && isRepeatable) addReplayHeaders(response);
  const json = getJson(response);
  if (json === null || json["example"] !== undefined) return;
  const schema = getMembers(json["schema"]);
  const isError = schema["x-name"] === "Errors";
  const example = isError ? errorExample(route, status, limits) : buildAnswerExample(schema);
  if (example === undefined) return;
  json["example"] =
    isError || !isMembers(data) || !isMembers(example)
      ? example
      : { ...example, data: { ...getMembers(example["data"]), ...data } };
}

function addReplayHeaders(response: Members): void {
  const names = Object.keys(REPLAY_HEADERS);
  const headers = names.map((name): [string, Json] => [name, { $ref: `#/components/headers/${name}` }]);
  response["headers"] = { ...getMembers(response["headers"]), ...Object.fromEntries(headers) };
}

function addLinks(operation: Operation, all: Operation[]): void {
  for (const [status, response] of Object.entries(getMembers(operation.value["responses"]))) {
    const data = getMembers(getMembers(getJson(response)?.["schema"])["properties"])["data"];
    if (!status.startsWith("2") || !isMembers(response) || !isMembers(data)) continue;
    const links = findLinks(operation, data, all);
    if (Object.keys(links).length > 0) response["links"] = links;
  }
}

/** Schemas that have a name are written once, under `components`, and pointed to. */
function moveNamedSchemas(value: Json, schemas: Members): Json {
  if (Array.isArray(value)) return value.map((item) => moveNamedSchemas(item, schemas));
  if (!isMembers(value)) return value;
  const { "x-name": name, ...others } = value;
  const schema = mapMembers(others, (member, key) => (isExample(key) ? member : moveNamedSchemas(member, schemas)));
  if (typeof name !== "string") return schema;
  const known = schemas[name];
  if (known !== undefined && !Bun.deepEquals(known, schema)) throw new Error(`two schemas have the name ${name}`);
  schemas[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}

function replaceInExamples(value: Json, words: [said: string, meant: string][], isInExample = false): Json {
  if (typeof value === "string")
    return isInExample ? words.reduce((text, [said, meant]) => text.replaceAll(said, meant), value) : value;
  if (Array.isArray(value)) return value.map((item) => replaceInExamples(item, words, isInExample));
  if (!isMembers(value)) return value;
  return mapMembers(value, (member, name) => replaceInExamples(member, words, isInExample || isExample(name)));
}
