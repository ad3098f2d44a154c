// The payload of each event, for the API docs. test/integration/api/event-payloads.test.ts compares real events with it.

import { Type } from "@sinclair/typebox";
import type { EventPayload, EventShape } from "./events.ts";
import { DomainState } from "../../modules/domains/schema.ts";
import { EmailInEvent } from "../../modules/emails/api/schema.ts";
import type { EventType } from "../../modules/events/schema.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { InboundSms, SmsRecord } from "../../modules/sms/api/schema.ts";
import { Suppression } from "../../modules/suppressions/schema.ts";
import { Webhook } from "../../modules/webhooks/api/schema.ts";
import { identifier, oneOf } from "../../platform/http/answer-schemas.ts";

const { body: _body, ...smsMembers } = SmsRecord.properties;

const QuotaWarning = namedObject("QuotaWarning", {
  period: oneOf(["day", "month"], "Of UTC."),
  percent: Type.Integer({ description: "How much of the quota is used: 80 or 100.", examples: [80] }),
  used: Type.Integer({ description: "Emails accepted in the period.", examples: [80] }),
  limit: Type.Integer({ description: "Emails that the plan allows in it.", examples: [100] }),
});

const SendingNotice = namedObject("SendingNotice", {
  workspaceId: identifier("The workspace."),
  reason: Type.String({
    description: "What was counted, in words.",
    examples: ["22 of 240 emails answered in the last 7 days bounced hard (9.2 %; the limit is 8 %)"],
  }),
});

const EMAIL: EventShape = { name: "EmailEvent", data: namedObject("EmailInEvent", EmailInEvent.properties) };
const SMS: EventShape = { name: "SmsEvent", data: namedObject("SmsInEvent", smsMembers) };
const SMS_RECEIVED: EventShape = { name: "SmsReceivedEvent", data: InboundSms };
const DOMAIN: EventShape = { name: "DomainEvent", data: DomainState };
const SUPPRESSION: EventShape = { name: "SuppressionEvent", data: Suppression };
const QUOTA: EventShape = { name: "QuotaEvent", data: QuotaWarning };
const SENDING: EventShape = { name: "SendingEvent", data: SendingNotice };
const WEBHOOK: EventShape = { name: "WebhookStateEvent", data: Webhook };

const REFUSAL = "550 5.1.1 No such user (mx1.example.net)";
const UNSENT = { providerId: null, sentAt: null, deliveredAt: null, attempts: 0 };
const AT_ITS_TIME = { sendAt: "2026-11-22T06:00:00.000Z", nextAttemptAt: "2026-11-22T06:00:00.000Z" };
const UNDELIVERED = { deliveredAt: null, failedReason: REFUSAL };
const BOUNCE = {
  type: "permanent",
  category: "invalid_recipient",
  smtpCode: 550,
  enhancedCode: "5.1.1",
  mx: "mx1.example.net",
};
const UNSUBMITTED = {
  deliveryState: null,
  providerStatus: null,
  providerId: null,
  sentAt: null,
  deliveredAt: null,
  lastEventAt: null,
};

/** A new event is described here, or this does not compile. */
export const EVENT_PAYLOADS: Record<EventType, EventPayload> = {
  "email.queued": { shape: EMAIL, says: "An email was accepted.", example: { ...UNSENT, status: "queued" } },
  "email.scheduled": {
    shape: EMAIL,
    says: "An email was accepted with a `sendAt`, or given another one. Its next event comes with its first attempt.",
    example: { ...UNSENT, status: "scheduled", ...AT_ITS_TIME },
  },
  "email.sent": {
    shape: EMAIL,
    says: "The relay took it: where mail goes by one, nothing is known of the recipient's own server.",
    example: { status: "sent", deliveredAt: null },
  },
  "email.delivered": { shape: EMAIL, says: "The recipient's mail server took it." },
  "email.delivery_delayed": {
    shape: EMAIL,
    says: "An attempt did not deliver it, and it will be tried again at `nextAttemptAt`. Sent for the first such attempt only.",
    example: {
      status: "delivery_delayed",
      deliveredAt: null,
      nextAttemptAt: "2026-11-21T12:01:02.000Z",
      lastReply: "450 4.2.0 Greylisted, try again later (mx1.example.net)",
    },
  },
  "email.bounced": {
    shape: EMAIL,
    says: "It was refused for good, by the recipient's server at once or by a notice later. `bounce` says why.",
    example: { ...UNDELIVERED, status: "bounced", bounce: BOUNCE },
  },
  "email.complained": {
    shape: EMAIL,
    says: "Its recipient reported it as spam, and gets no more email from this workspace.",
    example: { status: "complained" },
  },
  "email.failed": {
    shape: EMAIL,
    says: "It was given up, for a reason that is not the recipient's: `failedReason` has it.",
    example: { ...UNDELIVERED, status: "failed", failedReason: "Not delivered within 72 hours" },
  },
  "email.suppressed": {
    shape: EMAIL,
    says: "Its recipient was suppressed before it was sent, or was suppressed already among several of one send.",
    example: { ...UNSENT, status: "suppressed", failedReason: "The recipient is suppressed: hard_bounce" },
  },
  "email.canceled": {
    shape: EMAIL,
    says: "It was canceled by the API.",
    example: { ...UNSENT, status: "canceled" },
  },
  "sms.queued": {
    shape: SMS,
    says: "An SMS was accepted.",
    example: { ...UNSUBMITTED, status: "queued" },
  },
  "sms.sent": {
    shape: SMS,
    says: "The network took every segment.",
    example: { status: "sent", deliveryState: "accepted", providerStatus: "ESME_ROK", deliveredAt: null },
  },
  "sms.delivered": { shape: SMS, says: "The phone has it." },
  "sms.undelivered": {
    shape: SMS,
    says: "The network took it and could not deliver it.",
    example: {
      status: "undelivered",
      deliveryState: "undeliverable",
      failureCategory: "unknown_subscriber",
      providerStatus: "UNDELIV",
      providerErrorCode: "001",
      deliveredAt: null,
      failedReason: "The network says that nobody has this number",
    },
  },
  "sms.failed": {
    shape: SMS,
    says: "It never reached the network; its credits are given back.",
    example: {
      ...UNSUBMITTED,
      status: "failed",
      failureCategory: "sender_rejected",
      credits: 0,
      providerStatus: "ESME_RINVSRCADR",
      providerErrorCode: "0x0000000A",
      failedReason: "The network does not take this sender",
    },
  },
  "sms.expired": {
    shape: SMS,
    says: "Its time ran out before it was delivered.",
    example: { status: "expired", deliveryState: "expired", failureCategory: "expired", deliveredAt: null },
  },
  "sms.received": { shape: SMS_RECEIVED, says: "Somebody wrote to a number of the workspace." },
  "domain.verified": { shape: DOMAIN, says: "Its DKIM record was found: it may send." },
  "domain.warning": {
    shape: DOMAIN,
    says: "Its DKIM record is no longer found. It sends for 72 hours more.",
    example: { status: "warning" },
  },
  "domain.failed": {
    shape: DOMAIN,
    says: "It may not send: its DKIM record was not found for too long. It can be checked again.",
    example: { status: "failed" },
  },
  "suppression.created": { shape: SUPPRESSION, says: "An address gets no more messages from this workspace." },
  "suppression.deleted": { shape: SUPPRESSION, says: "An address gets messages again." },
  "workspace.quota_warning": { shape: QUOTA, says: "80 % or 100 % of the emails of the day or month are used." },
  "workspace.sending_warning": {
    shape: SENDING,
    says: "Half of what blocks sending is reached: too many emails bounced or were complained about. Once a day at most.",
    example: { reason: "11 of 240 emails answered in the last 7 days bounced hard (4.6 %; the limit is 8 %)" },
  },
  "workspace.sending_blocked": {
    shape: SENDING,
    says: "Too many emails bounced or were complained about: new ones are refused with 403.",
  },
  "webhook.disabled": {
    shape: WEBHOOK,
    says: "pombo turned a webhook off: it answered 410, or failed for five days.",
    example: {
      enabled: false,
      disabledReason: "The receiver answered 410 Gone",
      lastFailureAt: "2026-11-21T12:00:00.000Z",
      lastFailureReason: "The receiver answered 410 Gone",
    },
  },
  "webhook.test": { shape: WEBHOOK, says: "You asked for it: POST /api/v1/webhooks/{id}/test." },
};
