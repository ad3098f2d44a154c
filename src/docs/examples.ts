import { isMembers, type Json, type Members } from "../http/document.ts";

/**
 * A value that `schema` describes, from its own example or from those of its members: what is required, and
 * what has an example besides; of a required choice the first word. Undefined when a required member has
 * none. test/api/examples.test.ts sends each to a pombo.
 */
export function exampleOf(schema: Members): Json | undefined {
  if (schema["example"] !== undefined) return schema["example"];
  if (schema["type"] === "array") {
    const item = isMembers(schema["items"]) ? exampleOf(schema["items"]) : undefined;
    return item === undefined ? undefined : [item];
  }
  const { properties, required } = schema;
  if (!isMembers(properties)) return undefined;
  const needed = Array.isArray(required) ? required : [];
  const example: Members = {};
  for (const [name, member] of Object.entries(properties)) {
    const isNeeded = needed.includes(name);
    const own = isMembers(member) ? exampleOf(member) : undefined;
    const value = own === undefined && isNeeded ? firstOf(member) : own;
    if (value !== undefined) example[name] = value;
    else if (isNeeded) return undefined;
  }
  return example;
}

function firstOf(schema: Json): Json | undefined {
  if (!isMembers(schema)) return undefined;
  if (schema["type"] === "boolean") return true;
  return Array.isArray(schema["enum"]) ? schema["enum"][0] : undefined;
}
