import { Type, type TSchema } from "@sinclair/typebox";

const DESCRIPTIONS: Record<number, string> = {
  400: "The body is not a JSON object",
  401: "The API key is missing or not valid",
  402: "A quota or plan limit is reached",
  403: "This key may not do this",
  404: "There is no such thing in this workspace",
  405: "The path does not know this method",
  409: "The state of things does not allow it",
  413: "The body is too large",
  415: "The body is not application/json",
  422: "The request is not valid; one item per fault",
  503: "Nothing can be stored at the moment; nothing was accepted",
};

/** The body of every answer that is not 2xx. */
const ErrorBody = Type.Object({
  errors: Type.Array(
    Type.Object({
      code: Type.Optional(Type.String()),
      message: Type.String(),
      field: Type.Optional(Type.String()),
      path: Type.Optional(Type.String()),
      hint: Type.Optional(Type.String()),
    }),
  ),
});

interface Answer {
  description: string;
  content: { "application/json": { schema: TSchema } };
}

/** The answers of a route, for the API docs: `data` in its envelope, then the errors by status. */
export function answers(status: number, data: TSchema, errors: number[], meta?: TSchema): Record<string, Answer> {
  const envelope = meta === undefined ? Type.Object({ data }) : Type.Object({ data, meta });
  const all: Record<string, Answer> = { [status]: jsonAnswer("Done", envelope) };
  for (const code of errors) all[code] = jsonAnswer(DESCRIPTIONS[code] ?? "An error", ErrorBody);
  return all;
}

/** One answer of a route, for the API docs. */
export function jsonAnswer(description: string, schema: TSchema): Answer {
  return { description, content: { "application/json": { schema } } };
}

interface Description {
  tag: string;
  summary: string;
  description?: string;
  responses: Record<string, Answer>;
  /** It may be asked without a key. */
  isOpen?: boolean;
  /** Headers that the route reads. */
  headers?: { name: string; description: string }[];
}

/** What the API docs say of a route. */
export function describe(detail: Description) {
  const { tag, summary, description, responses, headers } = detail;
  const parameters = headers?.map((header) => ({
    in: "header" as const,
    ...header,
    schema: { type: "string" as const },
  }));
  return {
    tags: [tag],
    summary,
    // The docs plugin types answers by its own copy of JSON Schema, which TypeBox schemas satisfy only at run time.
    responses: responses as never,
    ...(description === undefined ? {} : { description }),
    ...(detail.isOpen === true ? { security: [] } : {}),
    ...(parameters === undefined ? {} : { parameters }),
  };
}
