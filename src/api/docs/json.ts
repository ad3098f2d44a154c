// JSON values, as the OpenAPI document is made of them.

export type Json = null | boolean | number | string | Json[] | Members;
export interface Members {
  [member: string]: Json;
}

export function isMembers(value: Json | undefined): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object; none where there is no object. */
export function getMembers(value: Json | undefined): Members {
  return isMembers(value) ? value : {};
}

/** The same members, each with what `change` makes of its value. */
export function mapMembers(members: Members, change: (value: Json, name: string) => Json): Members {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value, name)]));
}

/** Examples hold values and no schemas: their members may be called anything. */
export function isExample(name: string): boolean {
  return name === "example" || name === "examples";
}
