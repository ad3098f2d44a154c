// The kinds of settings of the schema in config.ts.

import { type TSchema, Type } from "@sinclair/typebox";

/**
 * The schema of one key. Names are those of the code (`lifetimeMs`), from which the file's key is derived (`lifetime`).
 * `default` is written as in the file. A key with neither `default` nor `derivedFrom` is required.
 */
export interface Setting {
  type?: string;
  description?: string;
  default?: unknown;
  /** The key that the default comes from; the reader leaves it undefined, and config.ts fills it in. */
  derivedFrom?: string;
  format?: string;
  enum?: string[];
  /** No message may show the value. */
  isSecret?: boolean;
  /** Added to the expectation in an error, in brackets. */
  note?: string;
  minimum?: number;
  maximum?: number;
  /** Bounds of durations and sizes, as in the file. */
  atLeast?: string;
  atMost?: string;
  items?: Setting;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Setting>;
  /** One pattern of names, each holding a table of the same shape. */
  patternProperties?: Record<string, Setting>;
}

/** A text of a format in formats.ts; without `initial` it is required. */
export function text(format: string, description: string, initial?: string) {
  return Type.String({ format, description, ...initially(initial) });
}

/** A text whose default comes from another key. */
export function derived(format: string, description: string, derivedFrom: string) {
  return Type.String({ format, description, derivedFrom });
}

/** A text that is read as a T. */
export function special<T>(format: string, description: string, initial?: string) {
  return Type.Unsafe<T>({ type: "string", format, description, ...initially(initial) });
}

/** A text that may be left out: "" is read as null. */
export function optional(format: string, description: string) {
  return special<string | null>(format, description, "");
}

export function flag(description: string, initial: boolean) {
  return Type.Boolean({ description, default: initial });
}

/** Never shown in errors; "" is read as null. */
export function secret(description: string) {
  return Type.Unsafe<string | null>({ type: "string", format: "secret", description, default: "", isSecret: true });
}

/** A whole number whose default comes from another key. */
export function derivedInteger([minimum, maximum]: [number, number], description: string, derivedFrom: string) {
  return Type.Integer({ minimum, maximum, description, derivedFrom });
}

/** A table that may occur several times. */
export function tables<T extends TSchema>(table: T, maxItems: number, description: string, note: string) {
  return Type.Array(table, { minItems: 0, maxItems, description, default: [], note });
}

export function integer([minimum, maximum]: [number, number], description: string, initial?: number) {
  return Type.Integer({ minimum, maximum, description, ...initially(initial) });
}

/** Milliseconds in the code, "72h" in the file. */
export function duration(range: [string, string], description: string, initial?: string) {
  return quantity("duration", range, description, initial);
}

/** Bytes in the code, "16MiB" in the file. */
export function size(range: [string, string], description: string, initial: string) {
  return quantity("size", range, description, initial);
}

/** One of a few words. `note` is added to the error for another one. */
export function choice<const T extends string>(
  options: T[],
  description: string,
  rest: { default: NoInfer<T>; note?: string },
) {
  return Type.Unsafe<T>({ type: "string", enum: options, description, ...rest });
}

export function list<T extends TSchema>(
  items: T,
  [minItems, maxItems]: [number, number],
  description: string,
  initial: string[],
) {
  return Type.Array(items, { minItems, maxItems, description, default: initial });
}

function quantity(
  format: string,
  [atLeast, atMost]: [string, string],
  description: string,
  initial: string | undefined,
) {
  const rest = { atLeast, atMost, description, ...initially(initial) };
  return Type.Unsafe<number>({ type: "string", format, ...rest });
}

function initially(value: string | number | undefined) {
  return value === undefined ? {} : { default: value };
}
