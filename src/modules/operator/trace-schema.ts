import { Type } from "@sinclair/typebox";
import { EmailRecord, TimelineEntry } from "../emails/api/schema.ts";
import { text } from "../../platform/http/request-schemas.ts";
import { SmsRecord } from "../sms/api/schema.ts";
import { Suppression } from "../suppressions/schema.ts";
import { WebhookDelivery } from "../webhooks/api/schema.ts";
import { named } from "../../platform/http/openapi.ts";

const MAX_FIND = 320;

const id = Type.String({ format: "uuid" });
const Time = Type.String({ format: "date-time" });
const MaybeTime = Type.Union([Time, Type.Null()]);
const MaybeText = Type.Union([Type.String(), Type.Null()]);
const MaybeId = Type.Union([id, Type.Null()]);

const kind = Type.Union([Type.Literal("email"), Type.Literal("sms")]);

export const TraceQuery = Type.Object({
  find: Type.Optional(
    text({
      minLength: 4,
      maxLength: MAX_FIND,
      description: "The beginning of an id, a recipient's address, or a number; default: the newest messages.",
      examples: ["maria@example.com"],
    }),
  ),
});

export const TraceCandidate = named(
  "TraceCandidate",
  Type.Object({
    kind,
    id,
    workspaceId: MaybeId,
    from: Type.String(),
    to: Type.String(),
    status: Type.String(),
    createdAt: Time,
  }),
);

const { html: _html, text: _text, ...emailMembers } = EmailRecord.properties;
const { body: _body, ...smsMembers } = SmsRecord.properties;

const TracedEmail = named(
  "TracedEmail",
  Type.Object({
    ...emailMembers,
    returnPath: Type.String({ description: "The address that receives reports about it." }),
    expiresAt: MaybeTime,
    timeline: Type.Array(
      Type.Object({
        ...TimelineEntry.properties,
        dialogue: Type.Optional(
          Type.Union([Type.String(), Type.Null()], {
            description:
              "The SMTP dialogue of an attempt that did not deliver, in lines with the milliseconds since its start, > for pombo and < for the server. Without the message itself.",
          }),
        ),
      }),
    ),
  }),
);

const TracedSegment = named(
  "TracedSegment",
  Type.Object({
    part: Type.Integer(),
    state: Type.String(),
    route: Type.String(),
    link: MaybeText,
    attempts: Type.Integer(),
    resends: Type.Integer({ description: "How often it was sent again after a lost response." }),
    reroutes: Type.Integer(),
    submittedAt: MaybeTime,
    acceptedAt: MaybeTime,
    smscId: MaybeText,
    receiptState: MaybeText,
    receiptAt: MaybeTime,
    providerStatus: MaybeText,
    providerCode: MaybeText,
    category: MaybeText,
    reason: MaybeText,
    nextAttemptAt: MaybeTime,
    credit: Type.String(),
  }),
);

const TracedSms = named("TracedSms", Type.Object({ ...smsMembers, expiresAt: Time, parts: Type.Array(TracedSegment) }));

const TracedEvent = named(
  "TracedEvent",
  Type.Object({
    id,
    type: Type.String(),
    at: Time,
    calls: Type.Array(Type.Object({ ...WebhookDelivery.properties, webhookId: id, url: Type.String() })),
    waiting: Type.Array(
      Type.Object({ webhookId: id, url: Type.String(), attempts: Type.Integer(), nextAttemptAt: MaybeTime }),
      { description: "Calls that are still to be made." },
    ),
  }),
);

/** The history of a message. */
export const Trace = named(
  "Trace",
  Type.Object({
    kind,
    id,
    workspaceId: MaybeId,
    workspaceName: MaybeText,
    email: Type.Union([TracedEmail, Type.Null()]),
    sms: Type.Union([TracedSms, Type.Null()]),
    suppressions: Type.Array(Suppression, { description: "The current suppressions of its recipient." }),
    events: Type.Array(TracedEvent, {
      description: "The events about it; empty if no webhook was subscribed to them.",
    }),
  }),
);
