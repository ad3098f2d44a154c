// The calls of the API that the dashboard makes, typed by the schemas that the server checks. A test holds each line against the OpenAPI document.

import type { Static } from "@sinclair/typebox";
import type { Link, LinkToken, LinkUse, Me, MeChange, SignedOut, SignIn } from "../../../modules/accounts/schema.ts";

/** One call a line: `"METHOD /path/:param": { body, query, data, meta }`, each the schema that the document names. */
export interface Calls {
  "GET /api/v1/auth/me": { data: Static<typeof Me> };
  "PATCH /api/v1/auth/me": { body: Static<typeof MeChange>; data: Static<typeof Me> };
  "POST /api/v1/auth/session": { body: Static<typeof SignIn>; data: Static<typeof Me> };
  "DELETE /api/v1/auth/session": { data: Static<typeof SignedOut> };
  "POST /api/v1/auth/links/inspect": { body: Static<typeof LinkToken>; data: Static<typeof Link> };
  "POST /api/v1/auth/links/use": { body: Static<typeof LinkUse>; data: Static<typeof Me> };
}

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
