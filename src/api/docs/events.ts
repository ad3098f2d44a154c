// The calls to webhooks, for the document: an entry for each type of event, and one schema for all of a shape.

import { type TSchema, Type } from "@sinclair/typebox";
import { getMembers, type Json, type Members } from "./json.ts";
import { simplifySchemas } from "./schemas.ts";
import { named } from "../../platform/http/openapi.ts";
import { buildAnswerExample } from "./examples.ts";
import { addDescriptions } from "./descriptions.ts";
import { dateTime, identifier } from "../../platform/http/answer-schemas.ts";

/** Events whose `data` has the same schema. */
export interface EventShape {
  /** As in `EmailEvent`. */
  name: string;
  /** The event's `data`. */
  data: TSchema;
}

export interface EventPayload {
  shape: EventShape;
  /** When it happens. */
  says: string;
  /** Where `data` is otherwise than in the shape's own example. */
  example?: Members;
}

/** By the event's type. */
export type EventPayloads = Record<string, EventPayload>;

const HEADERS = {
  "webhook-id": ["The event's id, the same on every attempt.", "019aa2f0-7c1e-7b3a-9d52-4f0c6b8e1a27"],
  "webhook-timestamp": ["When this attempt was signed, in seconds since 1970.", "1795262400"],
  "webhook-signature": [
    "`v1,` and a signature in base64; two, with a space between them, while a secret is being replaced.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ],
} as const;

const PARAMETERS = Object.entries(HEADERS).map(([name, [description, example]]) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string", examples: [example] },
}));

/** Another tag than that of the operations: generators write a file for each tag. */
export const EVENT_TAG = "Webhook calls";

const RESPONSES = {
  200: { description: "Any 2xx within 15 seconds: it has arrived. Anything else is tried again." },
  410: { description: "Turns the webhook off." },
};

/** For the document's `webhooks`, and the callback of the operation that makes one. */
export function buildEventOperations(payloads: EventPayloads): { webhooks: Members; callback: Members } {
  const shapes = new Map<EventShape, string[]>();
  for (const [type, { shape }] of Object.entries(payloads)) shapes.set(shape, [...(shapes.get(shape) ?? []), type]);
  const schemas = new Map([...shapes].map(([shape, types]) => [shape, buildEventSchema(shape, types)]));
  const webhooks: Members = {};
  for (const [type, { shape, says, example = {} }] of Object.entries(payloads)) {
    const schema = schemas.get(shape) ?? {};
    const event = getMembers(buildAnswerExample(schema));
    const body = { schema, example: { ...event, type, data: { ...getMembers(event["data"]), ...example } } };
    webhooks[type] = { post: buildOperation({ id: toOperationId(type), summary: type, description: says, body }) };
  }
  const all = {
    "x-name": "WebhookEvent",
    description: "Any event, as a webhook gets it.",
    oneOf: [...schemas.values()],
    discriminator: {
      propertyName: "type",
      mapping: Object.fromEntries(
        Object.entries(payloads).map(([type, { shape }]) => [type, `#/components/schemas/${shape.name}`]),
      ),
    },
  };
  const post = buildOperation({
    id: "onEvent",
    summary: "An event",
    description: "Each call holds one event that the webhook wants. `webhooks` in this document shows every type.",
    body: { schema: all },
  });
  return { webhooks, callback: { event: { "{$request.body#/url}": { post } } } };
}

function buildEventSchema({ name, data }: EventShape, types: string[]): Members {
  const type = Type.Unsafe<string>({ type: "string", enum: types, description: "What happened." });
  const envelope = Type.Object({
    type,
    timestamp: dateTime("When it happened."),
    workspaceId: identifier("The workspace of the event."),
    data,
  });
  return addDescriptions(simplifySchemas(JSON.parse(JSON.stringify(named(name, envelope))) as Json)) as Members;
}

/** `onEmailDeliveryDelayed`. */
function toOperationId(type: string): string {
  return `on${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`;
}

function buildOperation(words: { id: string; summary: string; description: string; body: Members }): Members {
  const { id, body, ...others } = words;
  return {
    operationId: id,
    ...others,
    tags: [EVENT_TAG],
    security: [],
    parameters: PARAMETERS,
    requestBody: { required: true, content: { "application/json": body } },
    responses: RESPONSES,
  };
}
