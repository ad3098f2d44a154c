import type { Json } from "../fakes/instance.ts";

// As much of JSON Schema as OpenAPI 3.0 and our document use, written anew from the standard, so that
// the answers are not judged by the library that describes them. A word it does not know is a fault.

const FORMATS: Record<string, RegExp> = {
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/,
  email: /^[^@\s]+@[^@\s]+$/,
};

const WORDS = new Set([
  ...["type", "nullable", "enum", "anyOf", "required", "properties", "additionalProperties", "items"],
  ...[
    "minProperties",
    "maxProperties",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "format",
    "pattern",
  ],
  ...["description", "example", "default"],
]);

/** What is wrong with a value, by a schema of the document; members that it does not name are faults too. */
export function faultsAgainst(schema: Json, value: Json, path = "$"): string[] {
  const unknown = Object.keys(schema).filter((word) => !WORDS.has(word));
  if (unknown.length > 0) return [`${path}: the schema has ${unknown.join()}`];
  if (value === null) return schema.nullable === true ? [] : [`${path} is null`];
  const faults: string[] = [];
  if (schema.enum !== undefined && !schema.enum.includes(value)) faults.push(`${path} is ${value}`);
  if (schema.anyOf !== undefined && !schema.anyOf.some((choice: Json) => isOneOf(choice, schema, value)))
    faults.push(`${path} fits no choice`);
  switch (schema.type) {
    case "object":
      return [...faults, ...objectFaults(schema, value, path)];
    case "array":
      return [...faults, ...arrayFaults(schema, value, path)];
    case "string":
      return [...faults, ...stringFaults(schema, value, path)];
    case "integer":
      return [...faults, ...integerFaults(schema, value, path)];
    case "boolean":
      return typeof value === "boolean" ? faults : [...faults, `${path} is no boolean`];
    default:
      return [
        ...faults,
        ...(schema.enum === undefined && schema.anyOf === undefined ? [`${path}: the schema has no type`] : []),
      ];
  }
}

/** A choice that only says more of an object's members leaves the rest to the schema around it. */
function isOneOf(choice: Json, around: Json, value: Json): boolean {
  const more = Object.entries<Json>(choice.properties ?? {}).map(([name, words]) => [
    name,
    { ...around.properties?.[name], ...words },
  ]);
  const properties = { ...around.properties, ...Object.fromEntries(more) };
  const whole = choice.type === undefined ? { type: "object", ...choice, properties } : choice;
  return faultsAgainst(whole, value).length === 0;
}

function objectFaults(schema: Json, value: Json, path: string): string[] {
  if (typeof value !== "object" || Array.isArray(value)) return [`${path} is no object`];
  const missing = (schema.required ?? []).filter((name: string) => value[name] === undefined);
  const faults: string[] = missing.map((name: string) => `${path}.${name} is missing`);
  const count = Object.keys(value).length;
  if (count < (schema.minProperties ?? 0) || count > (schema.maxProperties ?? Infinity))
    faults.push(`${path} has ${count} members`);
  // An object without members in the document is one of any members.
  if (schema.properties === undefined || Object.keys(schema.properties).length === 0) return faults;
  for (const [name, member] of Object.entries<Json>(value)) {
    const described = schema.properties[name];
    faults.push(
      ...(described === undefined
        ? [`${path}.${name} is not documented`]
        : faultsAgainst(described, member, `${path}.${name}`)),
    );
  }
  return faults;
}

function arrayFaults(schema: Json, value: Json, path: string): string[] {
  if (!Array.isArray(value)) return [`${path} is no array`];
  const faults = value.flatMap((item, index) => faultsAgainst(schema.items, item, `${path}[${index}]`));
  if (value.length < (schema.minItems ?? 0) || value.length > (schema.maxItems ?? Infinity))
    faults.push(`${path} has ${value.length} items`);
  return faults;
}

function integerFaults(schema: Json, value: Json, path: string): string[] {
  if (!Number.isInteger(value)) return [`${path} is no integer`];
  const isWithin = value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity);
  return isWithin ? [] : [`${path} is ${value}`];
}

function stringFaults(schema: Json, value: Json, path: string): string[] {
  if (typeof value !== "string") return [`${path} is no string`];
  const faults: string[] = [];
  const length = [...value].length;
  if (length < (schema.minLength ?? 0) || length > (schema.maxLength ?? Infinity))
    faults.push(`${path} has ${length} characters`);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(value))
    faults.push(`${path} is not like ${schema.pattern}`);
  if (schema.format !== undefined && FORMATS[schema.format]?.test(value) !== true)
    faults.push(`${path} is no ${schema.format}`);
  return faults;
}
