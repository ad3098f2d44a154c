import { isMembers, type Json, type Members } from "./json.ts";

/**
 * A value that `schema` describes, from its own example or from those of its members: what is required, and
 * what has an example besides; of a required choice the first word. Undefined when a required member has
 * none. test/integration/api/examples.test.ts sends each to a pombo.
 */
export function buildExample(schema: Members): Json | undefined {
  return build(schema, { isWhole: true, fallback: getFirst });
}

/** The same of an answer, whose optional members are left out, and whose ids, times and numbers are made up. */
export function buildAnswerExample(schema: Members): Json | undefined {
  return build(schema, { isWhole: false, fallback: inventValue });
}

interface ExampleStyle {
  /** Optional members that have an example stand in it too. */
  isWhole: boolean;
  fallback: (schema: Members) => Json | undefined;
}

function build(schema: Members, way: ExampleStyle): Json | undefined {
  const { examples } = schema;
  if (Array.isArray(examples)) return examples[0];
  const { properties, required, items } = schema;
  if (isMembers(items)) {
    const item = build(items, way);
    return item === undefined ? undefined : [item];
  }
  if (!isMembers(properties)) return undefined;
  const needed = Array.isArray(required) ? required : [];
  const example: Members = {};
  for (const [name, member] of Object.entries(properties)) {
    const isNeeded = needed.includes(name);
    if ((!isNeeded && !way.isWhole) || !isMembers(member)) continue;
    const own = build(member, way);
    const value = own === undefined && isNeeded ? way.fallback(member) : own;
    if (value !== undefined) example[name] = value;
    else if (isNeeded) return undefined;
  }
  return example;
}

function getFirst(schema: Members): Json | undefined {
  if (schema["type"] === "boolean") return true;
  return Array.isArray(schema["enum"]) ? schema["enum"][0] : undefined;
}

function inventValue(schema: Members): Json | undefined {
  const { type, format, enum: words, anyOf, minimum } = schema;
  const isNullable = Array.isArray(type) && type.includes("null");
  if (isNullable || (Array.isArray(anyOf) && anyOf.some((one) => isMembers(one) && one["type"] === "null")))
    return null;
  if (Array.isArray(words)) return words[0];
  if (format === "uuid") return "019aa2f0-7c1e-7b3a-9d52-4f0c6b8e1a27";
  if (format === "date-time") return "2026-11-21T12:00:00.000Z";
  if (type === "boolean") return false;
  return type === "integer" || type === "number" ? (minimum ?? 0) : undefined;
}
