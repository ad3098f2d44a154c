import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";
import { ANSWER_HEADERS } from "./openapi.ts";

// The OpenAPI document of the routes. Their schemas are JSON Schema, which OpenAPI 3.1 takes as it is; the docs
// plugin writes them out. Three things are put right: constants and choices with null become the forms that
// generators of clients read, bodies are JSON only, and defaults come back. api/docs/complete.ts adds what every
// operation has in common.

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
        info: { title: "pombo", version: "1.0" },
        components: { headers: ANSWER_HEADERS },
        security: [{ apiKey: [] }],
      },
    }),
  );
  for (const room of rooms) writer.use(room);
  const response = await writer.handle(new Request(`http://localhost${SPEC_PATH}`));
  return { ...mendMembers((await response.json()) as Members), openapi: "3.1.0" };
}

/** Of a schema, or of all that holds some. */
export function mend(value: Json): Json {
  if (Array.isArray(value)) return value.map(mend);
  return isMembers(value) ? mendMembers(simplified(value)) : value;
}

function mendMembers(value: Members): Members {
  const mended: Members = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "x-default") mended["default"] = member;
    // The plugin takes a parameter's examples out of its schema; there they have names.
    else if (name === "examples" && Array.isArray(member) && "in" in value) mended["example"] = member[0] ?? null;
    // Values, and no schemas: their members may be called anything.
    else if (name === "example" || name === "examples") mended[name] = member;
    else if (name === "content") mended[name] = jsonOnly(mend(member));
    // A map from the members' own names to their schemas: no name in it is a word of JSON Schema.
    else if (name === "properties" && isMembers(member)) mended[name] = mapMembers(member, mend);
    else mended[name] = mend(member);
  }
  return mended;
}

/**
 * The form that generators of clients read: an `enum` for constants, a list of types for one type and null. A choice
 * with an object stays: they read a choice of a named schema and null. A constant `true` is a boolean: an enum of
 * booleans does not compile in Java.
 */
function simplified(schema: Members): Members {
  const { const: single, anyOf: choices, ...others } = schema;
  if (single !== undefined) return typeof single === "boolean" ? others : { ...others, enum: [single] };
  if (!Array.isArray(choices)) return schema;
  const rest = choices.filter(isMembers).filter(({ type }) => type !== "null");
  const [first = {}] = rest;
  const values = rest.flatMap((choice) => (choice["const"] === undefined ? [] : [choice["const"]]));
  const isOfValues = values.length > 0 && values.length === rest.length;
  const one = isOfValues ? { type: first["type"] ?? "string", enum: values } : simplified(first);
  if ((!isOfValues && rest.length > 1) || typeof one["type"] !== "string" || one["type"] === "object") return schema;
  return { ...(rest.length < choices.length ? withNull(one) : one), ...others };
}

function withNull(schema: Members): Members {
  const { type = "string", enum: values } = schema;
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

export function isMembers(value: Json | undefined): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same members, each with what `change` makes of its value. */
export function mapMembers(members: Members, change: (value: Json, name: string) => Json): Members {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value, name)]));
}

function jsonOnly(content: Json): Json {
  if (!isMembers(content)) return content;
  const json = content["application/json"];
  return json === undefined ? content : { "application/json": json };
}
