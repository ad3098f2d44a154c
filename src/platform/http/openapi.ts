// Descriptions of routes and answers for the OpenAPI document.

import { type ObjectOptions, Type, type TObject, type TProperties, type TSchema } from "@sinclair/typebox";
import { CHALLENGE, ERROR_CODES } from "./errors.ts";
import { identifier } from "./answer-schemas.ts";

const DESCRIPTIONS: Record<number, string> = {
  400: "The body is not a JSON object",
  401: "The API key is missing or not valid",
  402: "A quota or plan limit is reached",
  403: "This key may not do this",
  404: "Not found in this workspace",
  405: "The path does not support this method",
  408: "The body came too slowly",
  409: "The current state does not allow this",
  413: "The body is too large",
  415: "The body is not application/json",
  422: "The request is not valid; one item for each error",
  429: "Too many requests; nothing was done",
  500: "An internal error; no partial change was made",
  503: "Nothing can be stored now; nothing was accepted, unless the message says that this is uncertain",
};

/** `schema`, which the document holds once, under this name. */
export function named<T extends TSchema>(name: string, schema: T): T {
  return { ...schema, "x-name": name };
}

/** An object that the document holds once, under this name. */
export function namedObject<T extends TProperties>(name: string, members: T, options: ObjectOptions = {}): TObject<T> {
  return named(name, Type.Object(members, options));
}

/** The body of a request: unknown members are refused. */
export function bodyObject<T extends TProperties>(name: string, members: T, options: ObjectOptions = {}): TObject<T> {
  return namedObject(name, members, { ...options, additionalProperties: false });
}

/** The body of every answer that is not 2xx. */
const ErrorBody = named(
  "Errors",
  Type.Object({
    errors: Type.Array(
      named(
        "Error",
        Type.Object({
          code: Type.Unsafe<string>({ type: "string", enum: ERROR_CODES, description: "For programs." }),
          message: Type.String({ description: "For people." }),
          field: Type.Optional(Type.String({ description: "The member or parameter with the error." })),
          path: Type.Optional(Type.String({ description: "Its path in a list: `emails[3].from`." })),
          hint: Type.Optional(Type.String({ description: "What to do." })),
        }),
      ),
      { minItems: 1, description: "One item for each error." },
    ),
  }),
);

export const Deleted = named(
  "Deleted",
  Type.Object({
    id: identifier("The id of the deleted object."),
    deleted: Type.Boolean({ description: "Always true.", examples: [true] }),
  }),
);

/** Errors of every route that needs a key. */
const ANYWHERE = [401, 429, 500];
/** Errors of every route with a body, besides 413. */
const OF_BODIES = [408, 503];

/** Headers of answers, for the document's components. */
export const ANSWER_HEADERS = {
  RequestId: {
    ...describeHeader("The request's id. For a 500 it is also in the operator's log.", {
      type: "string",
      format: "uuid",
    }),
    required: true,
  },
  RetryAfter: describeHeader("Seconds to wait before the next request.", { type: "integer", minimum: 1 }),
  RateLimitPolicy: describeHeader(
    "The limit that applies to this request: `q` requests at once, restored within `w` seconds. " +
      "Absent if nothing is limited.",
    { type: "string", example: '"sends";q=200;w=2' },
  ),
  RateLimit: describeHeader(
    "The rest of it: `r` requests at once, and more in `t` seconds. Absent if nothing is limited, as in the sandbox.",
    {
      type: "string",
      example: '"sends";r=199;t=1',
    },
  ),
  WwwAuthenticate: describeHeader("The headers for the key.", { type: "string", example: CHALLENGE }),
};

type HeaderName = keyof typeof ANSWER_HEADERS;

function describeHeader(description: string, schema: Record<string, unknown>) {
  return { description, schema };
}

interface Answer {
  description: string;
  headers: Record<string, { $ref: string }>;
  content: Partial<
    Record<
      | "application/json"
      | "application/octet-stream"
      | "*/*"
      | "text/html"
      | "text/csv"
      | "text/dns"
      | "text/event-stream",
      { schema: TSchema; example?: unknown }
    >
  >;
}

const DONE: Record<number, string> = { 201: "Made", 202: "Accepted" };

/** The answers of a route that needs a key: `data` in its envelope, then the errors by status, with those that all have. */
export function answers(status: number, data: TSchema, errors: number[], meta?: TSchema): Record<string, Answer> {
  const done = limitedAnswer(status, DONE[status] ?? "Done", buildEnvelope(data, meta));
  return { [status]: done, ...errorAnswers(errors) };
}

/** The errors of a route that needs a caller, by status, with those that all have. */
export function errorAnswers(errors: number[]): Record<string, Answer> {
  const ofBodies = errors.includes(413) ? OF_BODIES : [];
  return Object.fromEntries([...errors, ...ofBodies, ...ANYWHERE].map((code) => [code, errorAnswer(code)]));
}

/** Shared by all routes: a start describes a hundred. */
const knownErrors = new Map<number, Answer>();

function errorAnswer(status: number): Answer {
  const answer = knownErrors.get(status) ?? limitedAnswer(status, DESCRIPTIONS[status] ?? "An error", ErrorBody);
  knownErrors.set(status, answer);
  return answer;
}

/** The object around the data of an answer. `Email` comes in an `EmailResponse`, many `EmailListItem` in an `EmailList`. */
export function buildEnvelope(data: TSchema, meta?: TSchema): TSchema {
  const envelope = meta === undefined ? Type.Object({ data }) : Type.Object({ data, meta });
  const { "x-name": name, items } = data as { "x-name"?: string; items?: { "x-name"?: string } };
  if (name !== undefined) return named(`${name}Response`, envelope);
  const item = items?.["x-name"];
  return item === undefined ? envelope : named(`${item.replace(/ListItem$/, "")}List`, envelope);
}

/** One answer of a route that needs no key. */
export function jsonAnswer(description: string, schema: TSchema, example?: object): Answer {
  const json = { schema, ...(example === undefined ? {} : { example }) };
  return { description, headers: buildHeaders({}), content: { "application/json": json } };
}

/** A further answer of a route that needs a key. */
export function limitedAnswer(status: number, description: string, schema: TSchema): Answer {
  const headers = buildHeaders({
    ...(status === 401 ? { "WWW-Authenticate": "WwwAuthenticate" } : {}),
    ...([402, 429, 503].includes(status) ? { "Retry-After": "RetryAfter" } : {}),
    "RateLimit-Policy": "RateLimitPolicy",
    RateLimit: "RateLimit",
  });
  return { ...jsonAnswer(description, schema), headers };
}

function buildHeaders(names: Record<string, HeaderName>): Answer["headers"] {
  const all = Object.entries<HeaderName>({ "X-Request-Id": "RequestId", ...names });
  return Object.fromEntries(all.map(([name, known]) => [name, { $ref: `#/components/headers/${known}` }]));
}

/** An answer that is a page for a browser. */
export function htmlAnswer(description: string): Answer {
  return { description, headers: buildHeaders({}), content: { "text/html": { schema: Type.String() } } };
}

/** An answer that goes on: server-sent events. */
export function streamAnswer(description: string): Answer {
  const { headers } = limitedAnswer(200, description, Type.String());
  return { description, headers, content: { "text/event-stream": { schema: Type.String() } } };
}

/** An answer that is a table for a spreadsheet. */
export function csvAnswer(description: string): Answer {
  const { headers } = limitedAnswer(200, description, Type.String());
  return { description, headers, content: { "text/csv": { schema: Type.String() } } };
}

/** An answer that is a zone file (RFC 4027). */
export function zoneAnswer(description: string): Answer {
  const { headers } = limitedAnswer(200, description, Type.String());
  return { description, headers, content: { "text/dns": { schema: Type.String() } } };
}

/** An answer that is a file; absent a type, its type is that of the file. Generators of clients know the first as bytes. */
export function fileAnswer(description: string, mediaType: "message/rfc822" | "*/*" = "*/*"): Answer {
  const { headers } = limitedAnswer(200, description, Type.String());
  const file = { schema: Type.String({ format: "binary" }) };
  return { description, headers, content: { "application/octet-stream": file, [mediaType]: file } };
}

interface Description {
  /** The operation's name in generated clients: a verb and what it is about, as `sendEmail`. It never changes. */
  id: string;
  tag: string;
  summary: string;
  description: string;
  responses: Record<string, Answer>;
  /** Members of its example's `data` that differ from the schema's. */
  example?: object;
  /** It needs no key. */
  isOpen?: boolean;
  /** The proofs of who calls that it takes; absent: the operator key on the operator's paths, elsewhere a workspace's. Where a key is taken, so is a session whose role allows it. */
  keys?: ("apiKey" | "operatorKey" | "sessionCookie")[];
  headers?: { name: string; description: string }[];
}

export function describe(detail: Description) {
  const { id, tag, summary, description, responses, headers } = detail;
  const parameters = headers?.map((header) => ({
    in: "header" as const,
    ...header,
    schema: { type: "string" as const },
  }));
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(detail.example === undefined ? {} : { "x-example": detail.example }),
    // The docs plugin types answers by its own copy of JSON Schema, which TypeBox schemas satisfy only at run time.
    responses: responses as never,
    description,
    ...(detail.keys === undefined ? {} : { security: detail.keys.map((name) => ({ [name]: [] })) }),
    ...(detail.isOpen === true ? { security: [] } : {}),
    ...(parameters === undefined ? {} : { parameters }),
  };
}
