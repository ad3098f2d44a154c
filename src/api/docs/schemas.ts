// Schemas of the routes, in the forms of JSON Schema that generators of clients read.

import { isExample, isMembers, type Json, mapMembers, type Members } from "./json.ts";

/** Simplifies a schema, or every schema inside a larger value. */
export function simplifySchemas(value: Json): Json {
  if (Array.isArray(value)) return value.map(simplifySchemas);
  return isMembers(value) ? simplifyMembers(simplify(value)) : value;
}

function simplifyMembers(value: Members): Members {
  const simple: Members = {};
  for (const [name, member] of Object.entries(value)) {
    // Elysia would fill in a `default` before the check: platform/http/request-schemas.ts writes it under another name.
    if (name === "x-default") simple["default"] = member;
    // @elysiajs/swagger takes a parameter's examples out of its schema; there they have names.
    else if (name === "examples" && Array.isArray(member) && "in" in value) simple["example"] = member[0] ?? null;
    else if (isExample(name)) simple[name] = member;
    // It offers each body as a form and as text too.
    else if (name === "content" && isMembers(member) && member["application/json"] !== undefined)
      simple[name] = { "application/json": simplifySchemas(member["application/json"]) };
    // A map from the members' own names to their schemas: no name in it is a word of JSON Schema.
    else if (name === "properties" && isMembers(member)) simple[name] = mapMembers(member, simplifySchemas);
    else simple[name] = simplifySchemas(member);
  }
  return simple;
}

/**
 * An `enum` for constants, a list of types for one type and null. A choice with an object stays: generators read a
 * choice of a named schema and null. A constant `true` is a boolean: an enum of booleans does not compile in Java.
 */
function simplify(schema: Members): Members {
  const { const: single, anyOf: choices, ...others } = schema;
  if (single !== undefined) return typeof single === "boolean" ? others : { ...others, enum: [single] };
  if (!Array.isArray(choices)) return schema;
  const rest = choices.filter(isMembers).filter(({ type }) => type !== "null");
  const [first = {}] = rest;
  const values = rest.flatMap((choice) => (choice["const"] === undefined ? [] : [choice["const"]]));
  const isOfValues = values.length > 0 && values.length === rest.length;
  const one = isOfValues ? { type: first["type"] ?? "string", enum: values } : simplify(first);
  if ((!isOfValues && rest.length > 1) || typeof one["type"] !== "string" || one["type"] === "object") return schema;
  return { ...(rest.length < choices.length ? addNull(one) : one), ...others };
}

function addNull(schema: Members): Members {
  const { type = "string", enum: values } = schema;
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}
