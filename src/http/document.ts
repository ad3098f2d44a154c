import { swagger } from "@elysiajs/swagger";
import { type AnyElysia, Elysia } from "elysia";

// The OpenAPI document of the routes. The docs plugin writes it from their schemas, but not validly:
// `type: null` does not exist in OpenAPI 3.0, and bodies are offered as form data too. So it is
// written once at start, mended, and served as it is.

const SPEC_PATH = "/openapi.json";

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** Reads the routes' schemas and answers the document. */
export async function openApiDocument(rooms: AnyElysia[]): Promise<Json> {
  const writer = new Elysia({ aot: false }).use(
    swagger({
      path: "/docs",
      specPath: SPEC_PATH,
      documentation: {
        info: { title: "pombo", version: "1.0", description: "Transactional email and SMS from a server of your own." },
        components: {
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
  const nullable = asNullable(value);
  if (nullable !== null) return mend(nullable);
  const mended: { [member: string]: Json } = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "x-default") mended["default"] = member;
    else mended[name] = name === "content" ? jsonOnly(mend(member)) : mend(member);
  }
  return mended;
}

/** anyOf with `type: null` becomes `nullable`, OpenAPI 3.0's word for it. */
function asNullable(schema: { [member: string]: Json }): { [member: string]: Json } | null {
  const choices = schema["anyOf"];
  if (!Array.isArray(choices)) return null;
  const rest = choices.filter((choice) => !isNullType(choice));
  if (rest.length === choices.length) return null;
  const { anyOf: _, ...others } = schema;
  const [only] = rest;
  const isSingle = rest.length === 1 && typeof only === "object" && only !== null && !Array.isArray(only);
  return isSingle ? { ...others, ...only, nullable: true } : { ...others, anyOf: rest, nullable: true };
}

function isNullType(schema: Json): boolean {
  return typeof schema === "object" && schema !== null && !Array.isArray(schema) && schema["type"] === "null";
}

function jsonOnly(content: Json): Json {
  if (content === null || typeof content !== "object" || Array.isArray(content)) return content;
  const json = content["application/json"];
  return json === undefined ? content : { "application/json": json };
}
