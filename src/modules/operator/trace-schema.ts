import { Type } from "@sinclair/typebox";
import { EmailInEvent, TimelineEntry } from "../emails/api/schema.ts";
import { text } from "../../platform/http/request-schemas.ts";
import { SmsRecord } from "../sms/api/schema.ts";
import { Suppression } from "../suppressions/schema.ts";
import { WebhookDelivery } from "../webhooks/api/schema.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";

const MAX_FIND = 320;

const id = identifier();
const Time = dateTime();
const MaybeTime = orNull(Time);
const MaybeText = orNull(Type.String());
const MaybeId = orNull(id);

const kind = oneOf(["email", "sms"]);

export const TraceQuery = Type.Object({
  find: Type.Optional(
    text({
      minLength: 4,
      maxLength: MAX_FIND,
      description: "The beginning of an id, a recipient's address, or a number; default: the newest messages.",
      examples: ["maria@example.com"],
    }),
  ),
  events: Type.Optional(
    oneOf(["true", "false"], "With true, also the events whose id begins with `find`: the queue lists calls by them."),
  ),
});

export const TraceCandidate = namedObject("TraceCandidate", {
  kind: oneOf(["email", "sms", "event"]),
  id,
  workspaceId: MaybeId,
  from: Type.String({ description: "The sender; empty for an event." }),
  to: Type.String({ description: "The recipient; for an event the id of the email or SMS that it is about." }),
  status: Type.String({ description: "For an event its type." }),
  createdAt: Time,
});

const { body: _body, ...smsMembers } = SmsRecord.properties;

const TracedEmail = namedObject("TracedEmail", {
  ...EmailInEvent.properties,
  returnPath: Type.String({ description: "The address that receives reports about it." }),
  expiresAt: MaybeTime,
  timeline: Type.Array(
    Type.Object({
      ...TimelineEntry.properties,
      dialogue: Type.Optional(
        orNull(
          Type.String(),
          "The SMTP dialogue of an attempt that did not deliver, in lines with the milliseconds since its start, > for pombo and < for the server. Without the message itself.",
        ),
      ),
    }),
  ),
});

const TracedSegment = namedObject("TracedSegment", {
  part: Type.Integer(),
  state: Type.String(),
  route: Type.String(),
  link: MaybeText,
  attempts: Type.Integer(),
  resends: Type.Integer({ description: "How often it was sent again after a lost response." }),
  reroutes: Type.Integer({ description: "Times it went on to another link." }),
  submittedAt: orNull(Time, "When it was last handed to the SMSC."),
  acceptedAt: orNull(Time, "When the SMSC took it."),
  smscId: orNull(Type.String(), "The SMSC's id of it."),
  receiptState: orNull(Type.String(), "What it said."),
  receiptAt: orNull(Time, "When a receipt came."),
  providerStatus: orNull(Type.String(), "The network's last word."),
  providerCode: orNull(Type.String(), "The network's error code."),
  category: orNull(Type.String(), "What kind of failure it is."),
  reason: MaybeText,
  nextAttemptAt: MaybeTime,
  credit: Type.String({ description: "Whether its credit was taken or given back.", examples: ["taken"] }),
});

const TracedSms = namedObject("TracedSms", { ...smsMembers, expiresAt: Time, parts: Type.Array(TracedSegment) });

const TracedEvent = namedObject("TracedEvent", {
  id,
  type: Type.String(),
  at: Time,
  calls: Type.Array(Type.Object({ ...WebhookDelivery.properties, webhookId: id, url: Type.String() })),
  waiting: Type.Array(
    Type.Object({ webhookId: id, url: Type.String(), attempts: Type.Integer(), nextAttemptAt: MaybeTime }),
    { description: "Calls that are still to be made." },
  ),
});

/** The history of a message. */
export const Trace = namedObject("Trace", {
  kind,
  id,
  workspaceId: MaybeId,
  workspaceName: MaybeText,
  email: orNull(TracedEmail),
  sms: orNull(TracedSms),
  suppressions: Type.Array(Suppression, { description: "The current suppressions of its recipient." }),
  events: Type.Array(TracedEvent, {
    description: "The events about it; empty if no webhook was subscribed to them.",
  }),
});
