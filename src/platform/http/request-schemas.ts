// Schemas of request values, with rules that JSON Schema cannot say.

import { Kind, type Static, Type, TypeRegistry, type TObject, type TSchema, type TUnsafe } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { isId } from "../uuid.ts";
import { LargeText } from "./body/large-text.ts";

// A `ruled` schema shows its JSON Schema in the API docs and checks by its own function, in the same pass as everything
// else, so that one answer names every error. findFieldErrors() turns a failed check into sentences.

/** Whether values are as a schema says, and what is wrong with those that are not. */
export type Checker<T extends TSchema = TSchema> = Pick<TypeCheck<T>, "Check" | "Errors">;

/** Compiled when the first value comes: all schemas together take a tenth of a start. */
export function createChecker<T extends TSchema>(schema: T): Checker<T> {
  let made: Checker<T> | null = null;
  const compiled = () => (made ??= TypeCompiler.Compile(schema));
  return {
    Check: (value): value is Static<T> => compiled().Check(value),
    Errors: (value) => compiled().Errors(value),
  };
}

/** One error of a value; `path` leads from the checked value to the member. */
export interface FieldError {
  path: (string | number)[];
  message: string;
  hint?: string;
}

export interface Rule {
  isValid(value: unknown): boolean;
  /** At least one when isValid says false. */
  findErrors(value: unknown): FieldError[];
}

/** Errors that one answer names; every member of a full batch may have one. */
const MAX_ERRORS = 10_000;

const RULED = "PomboRuled";
const RULE = Symbol("rule");

/** A schema that is documented as `jsonSchema` and checked by `rule`. */
export function ruled<T>(jsonSchema: Record<string, unknown>, rule: Rule): TUnsafe<T> {
  if (!TypeRegistry.Has(RULED)) TypeRegistry.Set(RULED, (schema, value) => getRule(schema)?.isValid(value) ?? false);
  return Type.Unsafe<T>({ ...jsonSchema, [Kind]: RULED, [RULE]: rule });
}

function getRule(schema: unknown): Rule | undefined {
  return (schema as { [RULE]?: Rule })[RULE];
}

interface TextOptions {
  minLength?: number;
  maxLength: number;
  format?: string;
  /** For the docs; `check` is what refuses. */
  pattern?: string;
  description?: string;
  examples?: string[];
}

/** Text on one line, as a pattern for every dialect. */
export const ONE_LINE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$";

/** The same with something to see in it. */
const NAME =
  "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*[^\\s\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029][^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$";

/**
 * A string of `minLength` to `maxLength` Unicode code points (TypeBox would count UTF-16 units) without
 * lone surrogates. `check` may refuse the value with a sentence.
 */
export function text(options: TextOptions, check?: (value: string) => string | null): TUnsafe<string> {
  const { minLength = 0, maxLength } = options;
  const tooLong = `must have at most ${maxLength.toLocaleString("en")} characters`;
  const faultIn = (value: unknown): string | null => {
    if (value instanceof LargeText) return value.length > maxLength ? tooLong : null;
    if (typeof value !== "string") return `must be a string, not ${describeKind(value)}`;
    if (!value.isWellFormed()) return "must be valid Unicode: it holds half of a surrogate pair";
    const length = countCodePoints(value, minLength, maxLength);
    if (length < minLength) return minLength === 1 ? "must not be empty" : `must have at least ${minLength} characters`;
    if (length > maxLength) return tooLong;
    return check?.(value) ?? null;
  };
  const line = check === checkLine ? { pattern: ONE_LINE } : check === checkName ? { pattern: NAME } : {};
  return ruled<string>(
    { type: "string", ...(minLength > 0 ? { minLength } : {}), ...line, ...options },
    createLeafRule(faultIn),
  );
}

/** Text that may be large, which is then left as it came: who reads it checks what it holds. */
export const largeText = text as (options: TextOptions) => TUnsafe<string | LargeText>;

/** Overrides and isolates of direction (UAX #9): the text reads as what it is not. */
const TURNS_DIRECTION = /[\u202a-\u202e\u2066-\u2069]/;

/** For `text` that is written into lists, logs and terminals: one line that moves no cursor and turns no direction. */
export function checkLine(value: string): string | null {
  if (TURNS_DIRECTION.test(value)) return "must not hold characters that change the direction of text";
  return /[\p{Cc}\u2028\u2029]/u.test(value) ? "must not hold control characters or line breaks" : null;
}

/** For `text` that is a name. */
export function checkName(value: string): string | null {
  return checkLine(value) ?? (/\P{White_Space}/u.test(value) ? null : "must not be blank");
}

/** A whole number in a query, where every value comes as text. */
export function integerText(options: {
  minimum: number;
  maximum: number;
  default: number;
  description?: string;
}): TUnsafe<string> {
  const { minimum, maximum, default: absent, ...words } = options;
  return ruled<string>(
    // Elysia would fill a `default` in as a number before the check; api/docs/schemas.ts gives the name back.
    { type: "integer", minimum, maximum, "x-default": absent, ...words },
    createLeafRule((value) => {
      const isWhole = typeof value === "string" && /^\d{1,15}$/.test(value);
      if (isWhole && Number(value) >= minimum && Number(value) <= maximum) return null;
      if (Array.isArray(value)) return "must be given once";
      return `must be a whole number from ${minimum.toLocaleString("en")} to ${maximum.toLocaleString("en")}`;
    }),
  );
}

/** A whole number of a body; `check` may refuse the value with a sentence. */
export function integer(
  options: { minimum: number; maximum: number; description?: string; examples?: number[] },
  check?: (value: number) => string | null,
): TUnsafe<number> {
  const { minimum, maximum } = options;
  return ruled<number>(
    { type: "integer", ...options },
    createLeafRule((value) => {
      if (typeof value !== "number") return `must be a whole number, not ${describeKind(value)}`;
      const isWithin = Number.isInteger(value) && value >= minimum && value <= maximum;
      if (isWithin) return check?.(value) ?? null;
      return `must be a whole number from ${minimum.toLocaleString("en")} to ${maximum.toLocaleString("en")}`;
    }),
  );
}

/** One of a few words. */
export function choice<const Value extends string>(values: readonly Value[], description: string): TUnsafe<Value> {
  return ruled<Value>(
    { type: "string", enum: [...values], description },
    createLeafRule((value) => (values.includes(value as Value) ? null : `must be ${values.join(" or ")}`)),
  );
}

export function uuid(description = "Which one."): TUnsafe<string> {
  return ruled<string>(
    { type: "string", format: "uuid", description },
    createLeafRule((value) => (typeof value === "string" && isId(value) ? null : "must be a UUID")),
  );
}

/** `schema` (ruled) or null. */
export function nullable<T extends TSchema>(schema: T): TUnsafe<T["static"] | null> {
  const rule = getRule(schema);
  if (rule === undefined) throw new Error("only a ruled schema can be made nullable");
  const { type, enum: values } = schema as { type?: unknown; enum?: unknown[] };
  return ruled<T["static"] | null>(
    { ...schema, type: [type, "null"], ...(values === undefined ? {} : { enum: [...values, null] }) },
    { isValid: (value) => value === null || rule.isValid(value), findErrors: (value) => rule.findErrors(value) },
  );
}

/** `schema` (ruled), whose errors have a hint; null: none for this value. */
export function hinted<T extends TSchema>(schema: T, hintFor: (value: unknown) => string | null): TUnsafe<T["static"]> {
  const rule = getRule(schema);
  if (rule === undefined) throw new Error("only a ruled schema can be given hints");
  return ruled<T["static"]>(schema, {
    isValid: (value) => rule.isValid(value),
    findErrors(value) {
      const hint = hintFor(value);
      return rule.findErrors(value).map((fault) => (hint === null ? fault : { hint, ...fault }));
    },
  });
}

/** A value of `schema` (ruled), or an array of 1 to `maxItems` of them. */
export function oneOrMore<T extends TSchema>(
  schema: T,
  { maxItems, ...words }: { maxItems: number; description: string; examples: unknown[] },
): TUnsafe<T["static"] | T["static"][]> {
  const rule = getRule(schema);
  if (rule === undefined) throw new Error("only a ruled schema can be given one or more times");
  const findLengthFault = ({ length }: unknown[]): string | null => {
    if (length === 0) return "must hold at least 1 item";
    return length > maxItems ? `must hold at most ${maxItems} items` : null;
  };
  return ruled<T["static"] | T["static"][]>(
    { anyOf: [schema, { type: "array", items: schema, minItems: 1, maxItems }], ...words },
    {
      isValid: (value) =>
        Array.isArray(value)
          ? findLengthFault(value) === null && value.every((item) => rule.isValid(item))
          : rule.isValid(value),
      findErrors(value) {
        if (!Array.isArray(value)) return rule.findErrors(value);
        const message = findLengthFault(value);
        if (message !== null) return [{ path: [], message }];
        const faulty = [...value.entries()].filter(([, item]) => !rule.isValid(item));
        return faulty.flatMap(([index, item]) =>
          rule.findErrors(item).map((fault) => ({ ...fault, path: [index, ...fault.path] })),
        );
      },
    },
  );
}

/** An object of any member names, checked as a whole; no errors: it is as it must be. */
export function stringMap(
  jsonSchema: Record<string, unknown>,
  findErrors: (members: [name: string, value: unknown][]) => FieldError[],
): TUnsafe<Record<string, string>> {
  const toMember = ([name, value]: [string, unknown]): [string, unknown] => [
    name,
    value instanceof LargeText ? value.slice(0, value.length) : value,
  ];
  const findAll = (value: unknown): FieldError[] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? findErrors(Object.entries(value).map(toMember))
      : [{ path: [], message: `must be an object, not ${describeKind(value)}` }];
  return ruled<Record<string, string>>(
    { type: "object", ...jsonSchema },
    { isValid: (value) => findAll(value).length === 0, findErrors: findAll },
  );
}

/** An object with a rule over several of its members, besides the members' own; null or no errors: it holds. */
export function objectWith<T extends TObject>(
  object: T,
  rule: (value: T["static"]) => FieldError | FieldError[] | null,
  jsonSchema: Record<string, unknown> = {},
): TUnsafe<T["static"]> {
  const checker = createChecker(object);
  const wholeFaults = (value: T["static"]) => [rule(value) ?? []].flat();
  return ruled<T["static"]>(
    { ...object, ...jsonSchema },
    {
      isValid: (value) => checker.Check(value) && wholeFaults(value).length === 0,
      findErrors: (value) => {
        const faults = findFieldErrors(checker, value);
        const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
        return isObject ? [...faults, ...wholeFaults(value as T["static"])] : faults;
      },
    },
  );
}

function createLeafRule(faultIn: (value: unknown) => string | null): Rule {
  return {
    isValid: (value) => faultIn(value) === null,
    findErrors: (value) => [{ path: [], message: faultIn(value) ?? "is not valid" }],
  };
}

/** The errors of a value that failed its check, one a place: at most 10,000, and then one that says that there are more. */
export function findFieldErrors(checker: Checker, value: unknown): FieldError[] {
  const faults: FieldError[] = [];
  const seen = new Set<string>();
  for (const error of checker.Errors(value)) {
    // A missing member is reported as missing and then as of the wrong type: the first says it.
    if (seen.has(error.path)) continue;
    seen.add(error.path);
    const path = parsePointer(error.path, value);
    const rule = getRule(error.schema);
    const isMissing = error.type === ValueErrorType.ObjectRequiredProperty;
    if (rule === undefined || isMissing) faults.push(toFieldError(error, path));
    else for (const fault of rule.findErrors(error.value)) faults.push({ ...fault, path: [...path, ...fault.path] });
    if (faults.length > MAX_ERRORS) {
      return [
        ...faults.slice(0, MAX_ERRORS),
        { path: [], message: `has more errors than these ${MAX_ERRORS.toLocaleString("en")}` },
      ];
    }
    // The items of an array that is too long are not looked at: there may be a hundred thousand.
    if (error.type === ValueErrorType.ArrayMaxItems) break;
  }
  return faults;
}

/** Where the pointer leads in `root`; a number is an item's index, and never a member that is named like one. */
function parsePointer(pointer: string, root: unknown): (string | number)[] {
  let holder = root;
  return pointer
    .split("/")
    .slice(1)
    .map((part) => {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      const isItem = Array.isArray(holder);
      holder = typeof holder === "object" && holder !== null ? (holder as Record<string, unknown>)[name] : undefined;
      return isItem ? Number(name) : name;
    });
}

function toFieldError(error: ValueError, path: FieldError["path"]): FieldError {
  const message = describeError(error);
  if (error.type !== ValueErrorType.ObjectAdditionalProperties) return { path, message };
  const names = Object.keys((error.schema as { properties?: object }).properties ?? {});
  return { path, message, hint: `${explainPaging(path.at(-1), names)}Known here: ${names.join(", ")}.` };
}

/** For a client that pages through a list in the way of other lists. */
function explainPaging(asked: string | number | undefined, known: string[]): string {
  if (asked === "cursor" && known.includes("page")) return "This list has pages: page and limit. ";
  if (asked === "page" && known.includes("cursor"))
    return "This list is read with a cursor: meta.next_cursor of the page before. ";
  return "";
}

function describeError(error: ValueError): string {
  const schema = error.schema as { minItems?: number; maxItems?: number; const?: unknown; description?: string };
  switch (error.type) {
    case ValueErrorType.ObjectRequiredProperty:
      return "is required";
    case ValueErrorType.ObjectAdditionalProperties:
      return "is not a member of this request";
    case ValueErrorType.Object:
      return `must be an object, not ${describeKind(error.value)}`;
    case ValueErrorType.Array:
      return `must be an array, not ${describeKind(error.value)}`;
    case ValueErrorType.ArrayMinItems:
      return `must hold at least ${schema.minItems} item`;
    case ValueErrorType.ArrayMaxItems:
      return `must hold at most ${schema.maxItems} items`;
    case ValueErrorType.String:
      return `must be a string, not ${describeKind(error.value)}`;
    case ValueErrorType.Boolean:
      return `must be true or false, not ${describeKind(error.value)}`;
    case ValueErrorType.Union:
      return schema.description === undefined ? "has none of the allowed values" : `must be ${schema.description}`;
    default:
      return error.message.charAt(0).toLowerCase() + error.message.slice(1);
  }
}

function describeKind(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "boolean" ? "true or false" : `a ${typeof value}`;
}

/** Code points of `value`, or its UTF-16 length, at most twice as large, where that settles both limits. */
function countCodePoints(value: string, least: number, most: number): number {
  if (value.length <= most && value.length >= 2 * least - 1) return value.length;
  if (value.length > 2 * most) return value.length;
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}
