import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { ANSWER_HEADERS } from "./openapi.ts";

// The OpenAPI document of the routes. The docs plugin writes it from their schemas, but not validly:
// `type: null`, `const` and `examples` do not exist in the schemas of OpenAPI 3.0, and bodies are
// offered as form data too. So it is written once and mended; docs/complete.ts adds what every
// operation has in common; it is served as it is.

const SPEC_PATH = "/openapi.json";

export type Json = null | boolean | number | string | Json[] | Members;
export interface Members {
  [member: string]: Json;
}

/** Reads the routes' schemas and answers the document. */
export async function openApiDocument(rooms: AnyElysia[]): Promise<Members> {
  const writer = new Elysia({ aot: false }).use(
    swagger({
      path: "/swagger",
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
  return mendMembers((await response.json()) as Members);
}

function mend(value: Json): Json {
  if (Array.isArray(value)) return value.map(mend);
  if (value === null || typeof value !== "object") return value;
  const simpler = asNullable(value) ?? asEnum(value);
  return simpler === null ? mendMembers(value) : mend(simpler);
}

function mendMembers(value: Members): Members {
  const mended: Members = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "x-default") mended["default"] = member;
    else if (name === "examples" && Array.isArray(member)) mended["example"] = member[0] ?? null;
    // A value, and no schema: its members may be called anything.
    else if (name === "example") mended[name] = member;
    else if (name === "content") mended[name] = jsonOnly(mend(member));
    // A map from the members' own names to their schemas: no name in it is a word of JSON Schema.
    else if (name === "properties" && isMembers(member)) mended[name] = mendEach(member);
    else mended[name] = mend(member);
  }
  return mended;
}

function mendEach(schemas: Members): Json {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, mend(schema)]));
}

/** `const`, and a choice of several, is `enum` in OpenAPI 3.0. */
function asEnum(schema: Members): Members | null {
  const { const: single, anyOf: choices, ...others } = schema;
  if (single !== undefined) return { ...others, enum: [single] };
  if (!Array.isArray(choices) || choices.length === 0) return null;
  const values: Json[] = [];
  let type: Json = null;
  for (const choice of choices) {
    if (!isMembers(choice) || choice["const"] === undefined) return null;
    values.push(choice["const"]);
    type = choice["type"] ?? null;
  }
  return { ...others, ...(type === null ? {} : { type }), enum: values };
}

export function isMembers(value: Json | undefined): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * anyOf with `type: null` becomes `nullable`, OpenAPI 3.0's word for it. A choice of words and null has null
 * among its words then, or they would forbid it.
 */
function asNullable(schema: Members): Members | null {
  const choices = schema["anyOf"];
  if (!Array.isArray(choices)) return null;
  const rest = choices.filter((choice) => !isNullType(choice));
  if (rest.length === choices.length) return null;
  const { anyOf: _, ...others } = schema;
  const [only] = rest;
  const words = asEnum({ anyOf: rest })?.["enum"];
  if (Array.isArray(words)) return { ...others, type: "string", nullable: true, enum: [...words, null] };
  return rest.length === 1 && isMembers(only)
    ? { ...others, ...only, nullable: true }
    : { ...others, anyOf: rest, nullable: true };
}

function isNullType(schema: Json): boolean {
  return isMembers(schema) && schema["type"] === "null";
}

function jsonOnly(content: Json): Json {
  if (!isMembers(content)) return content;
  const json = content["application/json"];
  return json === undefined ? content : { "application/json": json };
}
