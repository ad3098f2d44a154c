// The calls of the API that the dashboard makes, typed by the schemas that the server checks. A test holds each line against the OpenAPI document.

import type { AccountCalls } from "./account-calls.ts";

/** One call a line: `"METHOD /path/:param": { body, query, data, meta }`, each the schema that the document names. */
export interface Calls extends AccountCalls {}

export type Call = keyof Calls;
type Member<C extends Call, Name extends string> = Calls[C] extends Record<Name, infer Value> ? Value : undefined;
export type Body<C extends Call> = Member<C, "body">;
export type Query<C extends Call> = Member<C, "query">;
export type Data<C extends Call> = Member<C, "data">;
export type Meta<C extends Call> = Member<C, "meta">;

type Names<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Others}`
    ? Name | Names<Others>
    : Rest
  : never;
export type Params<C extends Call> = Names<C>;
