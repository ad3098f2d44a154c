// The contract of the recipient routes.

import { Type } from "@sinclair/typebox";
import { dateTime, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { integerText, uuid } from "../../platform/http/request-schemas.ts";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { EmailRecord, TimelineEntry } from "../emails/api/schema.ts";
import { EventBody } from "../events/schema.ts";
import { InboundSms, SmsRecord, SmsTimelineEntry } from "../sms/api/schema.ts";
import { Suppression } from "../suppressions/schema.ts";

/** An email may have a megabyte. */
const MAX_PAGE = 20;

export const RecipientQuery = Type.Object({
  cursor: CursorQuery.properties.cursor,
  limit: Type.Optional(
    integerText({ minimum: 1, maximum: MAX_PAGE, default: MAX_PAGE, description: "The number of items on a page." }),
  ),
});

export const WorkspaceQuery = Type.Object({
  workspace: Type.Optional(uuid("Only what belongs to this workspace. By default all of them.")),
});

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** The result of an erasure. */
export const Erasure = namedObject("Erasure", {
  erasedAt: dateTime("When this was done."),
  complete: Type.Boolean({
    description: "False: there was more than fits into one request. Send it again until this is true.",
    examples: [true],
  }),
  emails: count("Emails that were erased."),
  canceledEmails: count("Those of them that waited, and are not sent any more."),
  sms: count("SMS that were erased."),
  canceledSms: count("Those of them that waited, and are not sent any more."),
  inFlight: count("Emails and SMS that were being sent: that attempt ends, and nothing is tried again."),
  inboundSms: count("Received SMS that were erased."),
  events: count("Events that were erased. Webhooks that are still to be called get them as they are now."),
  webhookCalls: count("Webhook calls that were made for these events; answers that stood among them are erased."),
  suppressions: count(
    "Suppressions that are kept as a keyed hash, and those held for the operator, which are deleted.",
  ),
  inboxMails: count("Mails to the operator that were erased; only where the operator erases in all workspaces."),
});

const KINDS = ["email", "sms", "inbound_sms", "suppression"] as const;

/** The member of its kind is there, the others are null. */
export const RecipientItem = namedObject("RecipientItem", {
  kind: oneOf(KINDS, "Which of the members below is there; the others are null."),
  at: dateTime("When it was accepted, received or suppressed."),
  email: orNull(EmailRecord, "An email to the recipient, with its content."),
  sms: orNull(SmsRecord, "An SMS to the recipient."),
  inboundSms: orNull(InboundSms, "An SMS from the recipient."),
  suppression: orNull(Suppression, "Why it gets no more messages."),
  held: Type.Boolean({ description: "The suppression waits for the operator, and does not block yet." }),
  emailTimeline: Type.Array(TimelineEntry, { description: "Of an email; else empty." }),
  smsTimeline: Type.Array(SmsTimelineEntry, { description: "Of an SMS to the recipient; else empty." }),
  events: Type.Array(EventBody, { description: "The events about it, as webhooks get them; the first 100." }),
});
