import { errorExample } from "./error-examples.ts";
import { exampleOf } from "./examples.ts";
import { linksOf, type Operation } from "./links.ts";
import { isMembers, type Json, type Members } from "../http/document.ts";
import { DESCRIPTION, KEYS, REPLAY_HEADERS, TAGS } from "./words.ts";

// What every operation of the document has in common, and no route says for itself: the key that it
// takes, an example of its body and of each error, where one leads to the next. And schemas of answers are closed: they name every member that an answer has.

export interface DocumentOptions {
  /** Stands in the examples where the routes' schemas say example.com: a domain that the reader can send from. */
  exampleDomain: string;
  /** What a request's `plan` may be. */
  planNames: string[];
  /** Paths that take the operator key. */
  isForOperator(path: string): boolean;
}

/** As the routes' schemas say it. */
const EXAMPLE_DOMAIN = "example.com";
const METHODS = new Set(["get", "put", "post", "delete", "patch"]);

/** The mended document, complete. */
export function completeDocument(document: Members, options: DocumentOptions): Json {
  const operations = operationsOf(document);
  const tags = new Set<Json>();
  for (const operation of operations) {
    const { value, path, method } = operation;
    value["operationId"] = nameOf(method, path);
    for (const tag of Array.isArray(value["tags"]) ? value["tags"] : []) tags.add(tag);
    if (value["security"] === undefined && options.isForOperator(path)) value["security"] = [{ operatorKey: [] }];
    namePlans(value, options.planNames);
    addBodyExample(value);
    const parameters = Array.isArray(value["parameters"]) ? value["parameters"] : [];
    const isRepeatable = parameters.some((parameter) => membersOf(parameter)["name"] === "Idempotency-Key");
    for (const [status, response] of Object.entries(membersOf(value["responses"]))) {
      const place = { route: `${method.toUpperCase()} ${path}`, status: Number(status), isRepeatable };
      if (isMembers(response)) completeResponse(response, place);
    }
  }
  for (const operation of operations) addLinks(operation, operations);
  const schemas: Members = {};
  const paths = withNames(document["paths"] ?? {}, schemas);
  const { securitySchemes, headers, ...components } = membersOf(document["components"]);
  return {
    ...document,
    info: { ...membersOf(document["info"]), description: DESCRIPTION },
    servers: [{ url: "/", description: "This instance" }],
    tags: TAGS.filter(({ name }) => tags.has(name)).map((tag) => ({ ...tag })),
    components: {
      ...components,
      securitySchemes: { ...membersOf(securitySchemes), ...KEYS },
      headers: { ...membersOf(headers), ...REPLAY_HEADERS },
      schemas,
    },
    paths: withDomain(paths, options.exampleDomain),
  };
}

function operationsOf(document: Members): Operation[] {
  return Object.entries(membersOf(document["paths"])).flatMap(([path, methods]) =>
    Object.entries(membersOf(methods)).flatMap(([method, value]) =>
      METHODS.has(method) && isMembers(value) ? [{ method, path, value }] : [],
    ),
  );
}

/** What a program that is made from the document calls it: `getEmailsByIdEvents`. */
function nameOf(method: string, path: string): string {
  const words = path
    .replace(/^\/api\/v1(?=\/)/, "")
    .replaceAll("{", "by-")
    .split(/[^A-Za-z0-9]+/);
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

function membersOf(value: Json | undefined): Members {
  return isMembers(value) ? value : {};
}

/** The JSON that a request or response is described by; null: it has no body of JSON. */
function jsonOf(holder: Json | undefined): Members | null {
  const json = membersOf(membersOf(holder)["content"])["application/json"];
  return isMembers(json) ? json : null;
}

/** A plan in a body is one of those that this instance is configured with. */
function namePlans(operation: Members, planNames: string[]): void {
  const schema = membersOf(jsonOf(operation["requestBody"])?.["schema"]);
  const plan = membersOf(schema["properties"])["plan"];
  if (isMembers(plan)) plan["enum"] = planNames;
}

/** The whole body, so that it can be sent as it stands. */
function addBodyExample(operation: Members): void {
  const json = jsonOf(operation["requestBody"]);
  const example = json === null ? undefined : exampleOf(membersOf(json["schema"]));
  if (json !== null && example !== undefined) json["example"] = example;
}

interface Place {
  /** As in `POST /api/v1/emails`. */
  route: string;
  status: number;
  /** It takes an Idempotency-Key. */
  isRepeatable: boolean;
}

function completeResponse(response: Members, { route, status, isRepeatable }: Place): void {
  if (status === 202 && isRepeatable) addReplayHeaders(response);
  const json = jsonOf(response);
  if (json === null) return;
  json["schema"] = closed(json["schema"] ?? {});
  const example = errorExample(route, status);
  if (example !== null && json["example"] === undefined && membersOf(json["schema"])["x-name"] === "Errors")
    json["example"] = example;
}

function addReplayHeaders(response: Members): void {
  const names = Object.keys(REPLAY_HEADERS);
  const headers = names.map((name): [string, Json] => [name, { $ref: `#/components/headers/${name}` }]);
  response["headers"] = { ...membersOf(response["headers"]), ...Object.fromEntries(headers) };
}

/** The schema with no member but those that it names, however deep. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isMembers(schema)) return schema;
  const { properties, ...others } = schema;
  const rest = Object.fromEntries(
    Object.entries(others).map(([name, value]) => [name, name === "example" ? value : closed(value)]),
  );
  if (!isMembers(properties) || Object.keys(properties).length === 0)
    return properties === undefined ? rest : { ...rest, properties };
  const each = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, closed(value)]));
  return { additionalProperties: false, ...rest, properties: each };
}

function addLinks(operation: Operation, all: Operation[]): void {
  for (const [status, response] of Object.entries(membersOf(operation.value["responses"]))) {
    const data = membersOf(membersOf(jsonOf(response)?.["schema"])["properties"])["data"];
    if (!status.startsWith("2") || !isMembers(response) || !isMembers(data)) continue;
    const links = linksOf(operation, data, all);
    if (Object.keys(links).length > 0) response["links"] = links;
  }
}

/** Schemas that have a name are written once, under `components`, and pointed to. */
function withNames(value: Json, schemas: Members): Json {
  if (Array.isArray(value)) return value.map((item) => withNames(item, schemas));
  if (!isMembers(value)) return value;
  const { "x-name": name, ...others } = value;
  const rest = Object.fromEntries(Object.entries(others).map(([key, member]) => [key, withNames(member, schemas)]));
  if (typeof name !== "string") return rest;
  schemas[name] = rest;
  return { $ref: `#/components/schemas/${name}` };
}

function withDomain(value: Json, domain: string, isExample = false): Json {
  if (typeof value === "string") return isExample ? value.replaceAll(EXAMPLE_DOMAIN, domain) : value;
  if (Array.isArray(value)) return value.map((item) => withDomain(item, domain, isExample));
  if (!isMembers(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, member]) => [name, withDomain(member, domain, isExample || name === "example")]),
  );
}
