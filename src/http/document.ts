import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { ANSWER_HEADERS } from "./openapi.ts";

// The OpenAPI document of the routes. The docs plugin writes it from their schemas, but not validly:
// `type: null`, `const` and `examples` do not exist in the schemas of OpenAPI 3.0, and bodies are
// offered as form data too. So it is written once at start, mended, and served as it is.

const SPEC_PATH = "/openapi.json";

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** Reads the routes' schemas and answers the document. */
export async function openApiDocument(rooms: AnyElysia[]): Promise<Json> {
  const writer = new Elysia({ aot: false }).use(
    swagger({
      path: "/docs",
      specPath: SPEC_PATH,
      // It takes openapi.json itself for a file.
      excludeStaticFile: false,
      exclude: [SPEC_PATH],
      documentation: {
        info: { title: "pombo", version: "1.0", description: "Transactional email from a server of your own." },
        components: {
          headers: ANSWER_HEADERS,
          securitySchemes: { apiKey: { type: "apiKey", in: "header", name: "X-API-Key" } },
        },
        security: [{ apiKey: [] }],
      },
    }),
  );
  for (const room of rooms) writer.use(room);
  const response = await writer.handle(new Request(`http://localhost${SPEC_PATH}`));
  const document = (await response.json()) as { [member: string]: Json };
  return mend(document);
}

function mend(value: Json): Json {
  if (Array.isArray(value)) return value.map(mend);
  if (value === null || typeof value !== "object") return value;
  const simpler = asNullable(value) ?? asEnum(value);
  if (simpler !== null) return mend(simpler);
  const mended: { [member: string]: Json } = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "x-default") mended["default"] = member;
    else if (name === "examples" && Array.isArray(member)) mended["example"] = member[0] ?? null;
    else if (name === "content") mended[name] = jsonOnly(mend(member));
    // A map from the members' own names to their schemas: no name in it is a word of JSON Schema.
    else if (name === "properties" && isMap(member)) mended[name] = mendEach(member);
    else mended[name] = mend(member);
  }
  return mended;
}

function mendEach(schemas: { [member: string]: Json }): Json {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, mend(schema)]));
}

/** `const`, and a choice of several, is `enum` in OpenAPI 3.0. */
function asEnum(schema: { [member: string]: Json }): { [member: string]: Json } | null {
  const { const: single, anyOf: choices, ...others } = schema;
  if (single !== undefined) return { ...others, enum: [single] };
  if (!Array.isArray(choices) || choices.length === 0) return null;
  const values: Json[] = [];
  let type: Json = null;
  for (const choice of choices) {
    if (!isMap(choice) || choice["const"] === undefined) return null;
    values.push(choice["const"]);
    type = choice["type"] ?? null;
  }
  return { ...others, ...(type === null ? {} : { type }), enum: values };
}

function isMap(value: Json | undefined): value is { [member: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** anyOf with `type: null` becomes `nullable`, OpenAPI 3.0's word for it. */
function asNullable(schema: { [member: string]: Json }): { [member: string]: Json } | null {
  const choices = schema["anyOf"];
  if (!Array.isArray(choices)) return null;
  const rest = choices.filter((choice) => !isNullType(choice));
  if (rest.length === choices.length) return null;
  const { anyOf: _, ...others } = schema;
  const [only] = rest;
  return rest.length === 1 && isMap(only)
    ? { ...others, ...only, nullable: true }
    : { ...others, anyOf: rest, nullable: true };
}

function isNullType(schema: Json): boolean {
  return isMap(schema) && schema["type"] === "null";
}

function jsonOnly(content: Json): Json {
  if (!isMap(content)) return content;
  const json = content["application/json"];
  return json === undefined ? content : { "application/json": json };
}
