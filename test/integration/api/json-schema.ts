import type { Json } from "../../support/fakes/instance.ts";

// As much of JSON Schema as our document uses, written anew from the standard, so that
// the answers are not judged by the library that describes them. A word it does not know is a fault.

const FORMATS: Record<string, RegExp> = {
  uri: /^[a-z][a-z0-9+.-]*:\S+$/i,
  date: /^\d{4}-\d\d-\d\d$/,
  password: /^/,
  binary: /^/,
  byte: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/,
  email: /^[^@\s]+@[^@\s]+$/,
};

const WORDS = new Set([
  ...["type", "enum", "anyOf", "required", "properties", "additionalProperties", "items"],
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
  ...["description", "examples", "default"],
]);

/** What is wrong with a value, by a schema of the document; members that it does not name are faults too. */
export function faultsAgainst(schema: Json, value: Json, path = "$"): string[] {
  const unknown = Object.keys(schema).filter((word) => !WORDS.has(word));
  if (unknown.length > 0) return [`${path}: the schema has ${unknown.join()}`];
  if (schema.anyOf !== undefined) {
    const fits = schema.anyOf.some((choice: Json) => faultsAgainst(choice, value, path).length === 0);
    return fits
      ? []
      : [`${path} fits no choice: ${schema.anyOf.flatMap((one: Json) => faultsAgainst(one, value, path))}`];
  }
  const faults: string[] = [];
  if (schema.enum !== undefined && !schema.enum.includes(value)) faults.push(`${path} is ${value}`);
  const types: string[] = [schema.type].flat();
  if (value === null) return types.includes("null") ? faults : [`${path} is null`];
  const [type, ...others] = types.filter((one) => one !== "null");
  if (others.length > 0) return [`${path}: the schema has several types`];
  switch (type) {
    case "object":
      return [...faults, ...objectFaults(schema, value, path)];
    case "array":
      return [...faults, ...arrayFaults(schema, value, path)];
    case "string":
      return [...faults, ...stringFaults(schema, value, path)];
    case "integer":
      return [...faults, ...numberFaults(schema, value, path)];
    case "number":
      return [...faults, ...numberFaults(schema, value, path)];
    case "boolean":
      return typeof value === "boolean" ? faults : [...faults, `${path} is no boolean`];
    default:
      return [`${path}${type === undefined ? " is not null" : `: the schema has the type ${type}`}`];
  }
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

function numberFaults(schema: Json, value: Json, path: string): string[] {
  const isNumber = schema.type.includes("number") ? typeof value === "number" : Number.isInteger(value);
  if (!isNumber) return [`${path} is no ${schema.type}`];
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
