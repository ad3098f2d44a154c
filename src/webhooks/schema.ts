import { Type } from "@sinclair/typebox";
import { EVENT_TYPES } from "../events/schema.ts";
import { hinted, lineFault, ruled, text } from "../http/rules.ts";
import { parseTarget, type TargetRules } from "./target.ts";

const MAX_URL = 2048;
const MAX_DESCRIPTION = 255;
const MAX_EVENTS = 100;
const MAX_GRACE_HOURS = 168;

/** What a webhook may subscribe to: a type, a family (`email.*`), or everything. */
const NAMES: readonly string[] = [
  ...EVENT_TYPES,
  ...new Set(EVENT_TYPES.map((type) => `${type.split(".")[0]}.*`)),
  "*",
];

/** As far as its words go: what DNS says of its name comes later. */
function url(rules: TargetRules) {
  const options = {
    minLength: 1,
    maxLength: MAX_URL,
    format: "uri",
    description: "Where events are sent: https, and reachable from the internet.",
    examples: ["https://example.com/hooks/pombo"],
  };
  const faultOf = (value: string) => {
    const parsed = parseTarget(value, rules);
    return parsed.kind === "fault" ? parsed : null;
  };
  return hinted(
    text(options, (value) => faultOf(value)?.message ?? null),
    (value) => (typeof value === "string" ? (faultOf(value)?.hint ?? null) : null),
  );
}

const eventName = ruled<string>(
  { type: "string", enum: [...NAMES] },
  {
    isValid: (value) => NAMES.includes(value as string),
    faults: () => [
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
  description: "The names of events, `email.*` for all of a kind, `*` for all.",
});

const description = text({ maxLength: MAX_DESCRIPTION, description: "For people." }, lineFault);

export function webhookCreate(rules: TargetRules) {
  return Type.Object(
    {
      url: url(rules),
      events: eventNames,
      description: Type.Optional(description),
      enabled: Type.Optional(Type.Boolean({ description: "Whether it is called; default: true." })),
    },
    { additionalProperties: false },
  );
}

export function webhookPatch(rules: TargetRules) {
  return Type.Object(
    {
      url: Type.Optional(url(rules)),
      events: Type.Optional(eventNames),
      description: Type.Optional(description),
      enabled: Type.Optional(Type.Boolean({ description: "true also takes back what pombo turned off." })),
    },
    { additionalProperties: false, minProperties: 1 },
  );
}

export const SecretRotation = Type.Object(
  {
    graceHours: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_HOURS,
        description:
          "How long the old secret signs too; default: 24. 0: it and every earlier one end at once, as after a leak.",
      }),
    ),
  },
  { additionalProperties: false },
);

export const Recovery = Type.Object(
  {
    since: Type.String({ format: "date-time", description: "From this time on.", examples: ["2026-11-21T00:00:00Z"] }),
  },
  { additionalProperties: false },
);

const Uuid = Type.String({ format: "uuid" });
const Time = Type.String({ format: "date-time" });
const NullableTime = Type.Union([Time, Type.Null()]);
const NullableText = Type.Union([Type.String(), Type.Null()]);

export const Webhook = Type.Object({
  id: Uuid,
  url: Type.String(),
  events: Type.Array(Type.String()),
  createdAt: Time,
  lastDeliveryAt: Type.Union([Time, Type.Null()], { description: "The last call that succeeded." }),
  lastFailureAt: NullableTime,
  lastFailureReason: NullableText,
  description: NullableText,
  enabled: Type.Boolean(),
  disabledReason: Type.Union([Type.String(), Type.Null()], { description: "Why pombo turned it off." }),
});

export const WebhookWithSecret = Type.Object({
  ...Webhook.properties,
  secret: Type.String({ description: "Shown in this answer only.", examples: ["whsec_…"] }),
});

/** One HTTP attempt: one of deliveredAt and failedAt is set. */
export const WebhookDelivery = Type.Object({
  id: Uuid,
  event: Type.String({ examples: ["email.delivered"] }),
  responseStatus: Type.Union([Type.Integer(), Type.Null()], { description: "Null: there was no answer." }),
  errorMessage: NullableText,
  createdAt: Time,
  deliveredAt: NullableTime,
  failedAt: NullableTime,
  attempt: Type.Integer({ minimum: 1 }),
  eventId: Type.String({ format: "uuid", description: "The header webhook-id, the same on every attempt." }),
  durationMs: Type.Integer({ minimum: 0 }),
  nextAttemptAt: NullableTime,
});

export const DeletedWebhook = Type.Object({ id: Uuid, deleted: Type.Boolean() });
/** What was queued by hand. */
export const Queued = Type.Object({ eventId: Uuid });
export const Recovered = Type.Object({ queued: Type.Integer({ minimum: 0 }) });
