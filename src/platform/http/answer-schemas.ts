// Schemas of what answers hold. A description that is left out comes from api/docs/descriptions.ts.

import { type Static, type TSchema, Type } from "@sinclair/typebox";

export function identifier(description?: string) {
  return Type.String({ format: "uuid", ...toWords(description) });
}

/** ISO 8601 in UTC. */
export function dateTime(description?: string) {
  return Type.String({ format: "date-time", ...toWords(description) });
}

export function orNull<T extends TSchema>(schema: T, description?: string, ...examples: Static<T>[]) {
  return Type.Union([schema, Type.Null()], toWords(description, examples));
}

/** One of a few words. */
export function oneOf<const Word extends string>(words: readonly Word[], description?: string, ...examples: Word[]) {
  const choices = words.map((word) => Type.Literal(word));
  return Type.Unsafe<Word>(Type.Union(choices, toWords(description, examples)));
}

function toWords(description: string | undefined, examples: unknown[] = []) {
  return { ...(description === undefined ? {} : { description }), ...(examples.length === 0 ? {} : { examples }) };
}
