// The types of events, and their form.

import { Type } from "@sinclair/typebox";
import { dateTime, identifier } from "../../platform/http/answer-schemas.ts";

/** By the names that a webhook subscribes to. */
export const EVENT_TYPES = [
  "email.queued",
  "email.scheduled",
  "email.sent",
  "email.delivered",
  "email.delivery_delayed",
  "email.bounced",
  "email.complained",
  "email.failed",
  "email.suppressed",
  "email.canceled",
  "sms.queued",
  "sms.sent",
  "sms.delivered",
  "sms.undelivered",
  "sms.failed",
  "sms.expired",
  "sms.received",
  "domain.verified",
  "domain.warning",
  "domain.failed",
  "suppression.created",
  "suppression.deleted",
  "workspace.quota_warning",
  "workspace.sending_warning",
  "workspace.sending_blocked",
  "webhook.disabled",
  "webhook.test",
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** An event as webhooks and listeners get it. */
export const EventBody = Type.Object({
  type: Type.String({
    description: "The event's type: one of those that `webhooks` in this document lists, or a new one.",
    examples: ["suppression.created"],
  }),
  timestamp: dateTime("When it happened."),
  workspaceId: identifier("The workspace of the event."),
  data: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        "Its subject as the API shows it, without the content of a message. `webhooks` in this document shows it by type.",
      examples: [
        {
          address: "maria@example.net",
          reason: "hard_bounce",
          channel: "email",
          suppressedAt: "2026-11-21T12:00:00.000Z",
        },
      ],
    },
  ),
});
