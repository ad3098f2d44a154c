// Requests and answers of the webhooks.

import { Type } from "@sinclair/typebox";
import { EVENT_TYPES } from "../../events/schema.ts";
import { choice, hinted, checkLine, ruled, text } from "../../../platform/http/request-schemas.ts";
import { PageMeta, PageQuery } from "../../../platform/http/pagination.ts";
import { KEPT_BYTES } from "../delivery/call.ts";
import { parseTarget, type TargetRules } from "../delivery/target.ts";
import { bodyObject, namedObject } from "../../../platform/http/openapi.ts";
import { dateTime, identifier, orNull } from "../../../platform/http/answer-schemas.ts";

const MAX_URL = 2048;
const MAX_DESCRIPTION = 255;
const MAX_EVENTS = 100;
const MAX_GRACE_HOURS = 168;

/** The names that a webhook may subscribe to: a type, a family (`email.*`), or everything. */
const NAMES: readonly string[] = [
  ...EVENT_TYPES,
  ...new Set(EVENT_TYPES.map((type) => `${type.split(".")[0]}.*`)),
  "*",
];

/** Checks the URL by itself; its name is looked up later. */
function url(rules: TargetRules) {
  const options = {
    minLength: 1,
    maxLength: MAX_URL,
    format: "uri",
    description: "The receiver of events: https, and reachable from the internet.",
    examples: ["https://example.com/hooks/pombo"],
  };
  const findFault = (value: string) => {
    const parsed = parseTarget(value, rules);
    return parsed.kind === "fault" ? parsed : null;
  };
  return hinted(
    text(options, (value) => findFault(value)?.message ?? null),
    (value) => (typeof value === "string" ? (findFault(value)?.hint ?? null) : null),
  );
}

const eventName = ruled<string>(
  { type: "string", enum: [...NAMES] },
  {
    isValid: (value) => NAMES.includes(value as string),
    findErrors: () => [
      {
        path: [],
        message: "must be the name of an event",
        hint: `Known: ${NAMES.join(", ")}.`,
      },
    ],
  },
);

const eventNames = Type.Array(eventName, {
  minItems: 1,
  maxItems: MAX_EVENTS,
  examples: [["email.delivered", "email.bounced"]],
  description: "Event names, `email.*` for all of a kind, `*` for all.",
});

const description = text({ maxLength: MAX_DESCRIPTION, description: "For people.", examples: ["Shop"] }, checkLine);

export function buildCreateSchema(rules: TargetRules) {
  return bodyObject("WebhookCreate", {
    url: url(rules),
    events: eventNames,
    description: Type.Optional(description),
    enabled: Type.Optional(Type.Boolean({ description: "Whether it is called; default: true." })),
  });
}

export function buildChangeSchema(rules: TargetRules) {
  return bodyObject(
    "WebhookChange",
    {
      url: Type.Optional(url(rules)),
      events: Type.Optional(eventNames),
      description: Type.Optional(description),
      enabled: Type.Optional(Type.Boolean({ description: "true also enables a webhook that pombo disabled." })),
    },
    { minProperties: 1 },
  );
}

export const SecretRotation = bodyObject("SecretRotation", {
  graceHours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_GRACE_HOURS,
      description:
        "How long the old secret also signs; default: 24. 0: it and all earlier ones end at once, as after a leak.",
    }),
  ),
});

export const Recovery = bodyObject("WebhookRecovery", {
  since: Type.String({
    format: "date-time",
    description: "From this time on.",
    examples: ["2026-11-21T00:00:00Z"],
  }),
});

const Time = dateTime();

export const Webhook = namedObject("Webhook", {
  id: identifier("The webhook's id."),
  url: Type.String({ description: "Where events are sent.", examples: ["https://example.com/hooks/pombo"] }),
  events: Type.Array(Type.String(), {
    description: "The events that it wants: names, `email.*` for all of a kind, `*` for all.",
    examples: [["email.delivered", "email.bounced"]],
  }),
  createdAt: dateTime("When it was created."),
  lastDeliveryAt: orNull(Time, "The last call that succeeded."),
  lastFailureAt: orNull(Time, "The last call that failed."),
  lastFailureReason: orNull(Type.String(), "Why that failed."),
  description: orNull(Type.String(), "For people."),
  enabled: Type.Boolean({ description: "Whether it is called.", examples: [true] }),
  disabledReason: orNull(Type.String(), "Why pombo disabled it; null: it did not."),
});

export const WebhookWithSecret = namedObject("WebhookWithSecret", {
  ...Webhook.properties,
  secret: Type.String({ description: "Shown only in this answer.", examples: ["whsec_…"] }),
});

/** One HTTP attempt: one of deliveredAt and failedAt is set. */
export const WebhookDelivery = namedObject("WebhookDelivery", {
  id: identifier("The attempt's id."),
  event: Type.String({ description: "The event's type.", examples: ["email.delivered"] }),
  responseStatus: orNull(Type.Integer(), "The status that the receiver answered; null: no answer.", 500),
  errorMessage: orNull(Type.String(), "Why it failed; null: it succeeded.", "It answered 500"),
  createdAt: dateTime("When the attempt began."),
  deliveredAt: orNull(Time, "When it succeeded; null: it failed."),
  failedAt: orNull(Time, "When it failed; null: it succeeded.", "2026-11-21T12:00:00.093Z"),
  attempt: Type.Integer({ minimum: 1, description: "The number of the attempt, from 1." }),
  eventId: identifier("The header webhook-id, the same on every attempt."),
  durationMs: Type.Integer({ minimum: 0, description: "How long it took.", examples: [93] }),
  nextAttemptAt: orNull(Time, "When the event is retried; null: never.", "2026-11-21T12:00:05.112Z"),
});

const DELIVERY_STATUSES = ["delivered", "failed"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const DeliveryQuery = Type.Object({
  ...PageQuery.properties,
  status: Type.Optional(choice(DELIVERY_STATUSES, "Only attempts that succeeded, or that failed.")),
});

export const DeliveryPageMeta = namedObject("WebhookDeliveryPageMeta", {
  ...PageMeta.properties,
  totalIsMinimum: Type.Optional(
    Type.Boolean({
      description: "True: more attempts have this status than were counted, and `total` is that number.",
    }),
  ),
});

/** With what was said. */
export const WebhookDeliveryRecord = namedObject("WebhookDeliveryRecord", {
  ...WebhookDelivery.properties,
  payload: orNull(
    Type.String(),
    "The body of the request, as it was sent and signed: JSON, of which an erased recipient is no part any more. " +
      "Null: its event has expired, or you may not see what messages say.",
    '{"type":"email.delivered","timestamp":"2026-11-21T12:00:00.000Z","workspaceId":"0192f0c1-7c1e-7a53-9d35-2f6c1a2b3c4d","data":{}}',
  ),
  responseBody: orNull(
    Type.String({ maxLength: KEPT_BYTES }),
    "The first 1 KiB of the answer's body as UTF-8; control characters in it are shown as U+FFFD. Null: no answer came, its " +
      "recipient was erased, or you may not see what messages say.",
    "ok",
  ),
  attempts: Type.Array(WebhookDelivery, {
    description: "The last attempts of the same event to this webhook, at most 16, newest first.",
  }),
});

/** An event that was queued by hand. */
export const Queued = namedObject("QueuedEvent", {
  eventId: identifier("Its header webhook-id."),
});
export const Recovered = namedObject("RecoveredEvents", {
  queued: Type.Integer({ minimum: 0, description: "How many events." }),
});
