// The contract of the SMS routes.

import { type TSchema, Type } from "@sinclair/typebox";
import { DELIVERY_STATES, FAILURE_CATEGORIES, SMS_STATUSES } from "../../../platform/db/schema/sms.ts";
import { SentBy } from "../../api-keys/schema.ts";
import { CursorQuery } from "../../../platform/http/pagination.ts";
import { TimeRangeQuery } from "../../../platform/http/times.ts";
import { choice, hinted, text } from "../../../platform/http/request-schemas.ts";
import { bodyFault } from "../encoding/encoding.ts";
import type { NumberingPlan } from "../encoding/phone-number.ts";
import { named, namedObject } from "../../../platform/http/openapi.ts";

const MAX_BODY = 1_600;
const MAX_FROM = 20;
/** Longer than any form of a number, so that an invalid one gets a hint. */
const MAX_NUMBER = 40;

export function number(numbering: NumberingPlan, description: string) {
  const { source: pattern, example, expected } = numbering;
  const plain = text({ maxLength: MAX_NUMBER, pattern, description, examples: [example] }, (value) =>
    numbering.allows(value) ? null : `must be ${expected}`,
  );
  return hinted(plain, (value) =>
    typeof value === "string" && value.length <= MAX_NUMBER ? numbering.advise(value) : null,
  );
}

const body = text(
  {
    minLength: 1,
    maxLength: MAX_BODY,
    // As bodyFault has it.
    pattern: String.raw`^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$`,
    description:
      "The text. A segment holds 160 characters of the GSM alphabet, or 70 if one is not in it. A tab is sent as a space.",
    examples: ["O seu código é 482913."],
  },
  (value) => bodyFault(value),
);

const closed = { additionalProperties: false };

export function smsSend(numbering: NumberingPlan) {
  return named(
    "SmsSend",
    Type.Object(
      {
        to: number(numbering, "The recipient, in E.164."),
        body,
        from: Type.Optional(
          text({
            minLength: 1,
            maxLength: MAX_FROM,
            description: "A sender id of the workspace; default: its default sender id.",
            examples: ["Loja Maria"],
          }),
        ),
      },
      { ...closed, examples: [{ to: numbering.example, body: "O seu código é 482913." }] },
    ),
  );
}

export type SmsSend = ReturnType<typeof smsSend>["static"];

export function smsPreview(numbering: NumberingPlan) {
  return named(
    "SmsPreviewRequest",
    Type.Object(
      { to: Type.Optional(number(numbering, "Picks the route whose way of joining parts counts.")), body },
      { ...closed, examples: [{ body: "Não partilhe este código com ninguém." }] },
    ),
  );
}

export function smsQuery(numbering: NumberingPlan) {
  return Type.Object({
    ...CursorQuery.properties,
    status: Type.Optional(choice(SMS_STATUSES, "What became of it.")),
    to: Type.Optional(number(numbering, "The recipient, in E.164; with a + written as %2B.")),
    ...TimeRangeQuery.properties,
  });
}

/** Subscribers write from numbers of any country, and SMSCs name some senders otherwise. */
export const InboundQuery = Type.Object({
  ...CursorQuery.properties,
  from: Type.Optional(
    text({ minLength: 1, maxLength: MAX_NUMBER, description: "The sender, in E.164; with a + written as %2B." }),
  ),
  ...TimeRangeQuery.properties,
});

const nullable = (schema: TSchema, description: string, ...examples: string[]) =>
  Type.Unsafe<string | null>(
    Type.Union([schema, Type.Null()], { description, ...(examples.length > 0 ? { examples } : {}) }),
  );
export const nullableText = (description: string, ...examples: string[]) =>
  nullable(Type.String(), description, ...examples);
export const nullableTime = (description: string, ...examples: string[]) =>
  nullable(Type.String({ format: "date-time" }), description, ...examples);
const words = <const Word extends string>(all: readonly Word[], description: string, ...examples: Word[]) =>
  Type.Unsafe<Word>({ type: "string", enum: [...all], description, ...(examples.length > 0 ? { examples } : {}) });
const nullableWords = <const Word extends string>(all: readonly Word[], description: string, ...examples: Word[]) =>
  Type.Unsafe<Word | null>({ ...words(all, description, ...examples), type: ["string", "null"], enum: [...all, null] });

const SEGMENT_ENTRIES = ["submitted", "accepted", "receipt", "deferred", "uncertain", "failed", "expired"] as const;

export const AcceptedSms = named(
  "AcceptedSms",
  Type.Object({
    id: Type.String({ format: "uuid", description: "The id of the SMS." }),
    status: words(["queued"], "Always `queued`."),
  }),
);

const Encoding = words(
  ["gsm7", "ucs2"],
  "`gsm7`: 160 characters a segment. `ucs2`: 70, since one of them is not in the GSM alphabet.",
);

export const SmsRecord = named(
  "Sms",
  Type.Object({
    id: Type.String({ format: "uuid", description: "The id of the SMS." }),
    to: Type.String({ description: "The recipient, in E.164.", examples: ["+258841234567"] }),
    from: Type.String({ description: "Its sender id.", examples: ["Loja Maria"] }),
    body: nullableText("The text as given; null: you may not see it.", "O seu recibo: 1.250 MT"),
    status: words(
      SMS_STATUSES,
      "What became of it. `sent`: the network took every segment; `undelivered`, `failed` and `expired` are ends, as is `delivered`.",
      "delivered",
    ),
    deliveryState: nullableWords(DELIVERY_STATES, "The network's word; null before it was submitted.", "delivered"),
    failureCategory: nullableWords(FAILURE_CATEGORIES, "Null while nothing is wrong."),
    providerStatus: nullableText(
      "The network's last word as it said it: a command status or a receipt's state.",
      "DELIVRD",
    ),
    providerErrorCode: nullableText("The network's error code as it gave it, such as `0x00000058`."),
    providerId: nullableText("The network's id of the first segment.", "4A5B6C7D"),
    failedReason: nullableText("Why it was not delivered, in words."),
    createdAt: Type.String({ format: "date-time", description: "When it was accepted." }),
    sentAt: nullableTime("When the network took its last segment.", "2026-11-21T12:00:00.480Z"),
    deliveredAt: nullableTime("When the phone had all of it, as the network says.", "2026-11-21T12:00:04.000Z"),
    lastEventAt: nullableTime("When the network last said something about it.", "2026-11-21T12:00:04.000Z"),
    segments: Type.Integer({ minimum: 1, description: "Its number of segments." }),
    encoding: Encoding,
    credits: Type.Integer({ minimum: 0, description: "One a segment, without refunds.", examples: [1] }),
    possibleDuplicate: Type.Boolean({
      description:
        "It may arrive twice: a response was lost and it was sent again; or it waited in a database that was restored from a backup, and may have been sent after the backup.",
    }),
  }),
);

/** One by itself. */
export const SmsRecordWithSender = namedObject("SmsWithSender", { ...SmsRecord.properties, sentBy: SentBy });

export const SmsTimelineEntry = named(
  "SmsTimelineEntry",
  Type.Object({
    type: words(
      [
        ...SMS_STATUSES.filter((status) => status !== "sending").map((status) => `sms.${status}` as const),
        ...SEGMENT_ENTRIES.map((entry) => `segment.${entry}` as const),
      ],
      "`sms.…`: its status from then on. `segment.…`: one segment; the receipt is the network's own report.",
    ),
    at: Type.String({ format: "date-time", description: "When." }),
    reason: nullableText("Why it was not delivered, or not yet, in words."),
    segment: Type.Optional(Type.Integer({ minimum: 1, description: "Which segment, from 1." })),
    attempt: Type.Optional(Type.Integer({ minimum: 0, description: "How often it has been submitted." })),
    nextAttemptAt: Type.Optional(Type.String({ format: "date-time", description: "When it is submitted again." })),
    providerId: Type.Optional(nullableText("The network's id of the segment.", "4A5B6C7D")),
    receiptState: Type.Optional(nullableWords(DELIVERY_STATES, "What the receipt says.", "delivered")),
    providerStatus: Type.Optional(nullableText("The network's word as it said it.", "DELIVRD")),
    providerErrorCode: Type.Optional(nullableText("The network's error code as it gave it.")),
  }),
);

const Cost = {
  encoding: Encoding,
  segments: Type.Integer({ minimum: 1, description: "Its number of segments." }),
  credits: Type.Integer({ minimum: 1, description: "Its cost." }),
};

export const SmsPreview = named(
  "SmsPreview",
  Type.Object(
    {
      ...Cost,
      sentText: Type.String({
        description:
          "The text that will be sent: tabs become spaces, and characters are replaced if the operator enabled transliteration.",
      }),
      offending: Type.Array(Type.String(), { description: "The characters that force UCS-2, each once." }),
      doubled: Type.Array(Type.String(), {
        description: "The characters that take two septets, each once; none where the text is UCS-2.",
      }),
      without: Type.Union([Type.Object(Cost), Type.Null()], {
        description: "The cost without the offending, or else without the doubled characters; null: it is the same.",
      }),
      folded: Type.Union(
        [Type.Object({ body: Type.String({ description: "The text with them replaced." }), ...Cost }), Type.Null()],
        {
          description:
            "With accents and punctuation replaced, if that saves segments; it is sent so if the operator enabled transliteration.",
        },
      ),
      unitsUsed: Type.Integer({ minimum: 1, description: "Septets, or UTF-16 units." }),
      unitsLeft: Type.Integer({ minimum: 0, description: "The room left in the last segment." }),
    },
    {
      examples: [
        {
          encoding: "ucs2",
          segments: 1,
          credits: 1,
          sentText: "Não partilhe este código com ninguém.",
          offending: ["ã", "ó"],
          doubled: [],
          without: null,
          folded: null,
          unitsUsed: 37,
          unitsLeft: 33,
        },
      ],
    },
  ),
);

export const InboundSms = named(
  "InboundSms",
  Type.Object({
    id: Type.String({ format: "uuid", description: "Its id." }),
    from: Type.String({ description: "The sender, in E.164.", examples: ["+258841234567"] }),
    to: Type.String({ description: "The number of the workspace.", examples: ["84000"] }),
    body: nullableText("The text; null: you may not see it.", "SIM"),
    receivedAt: Type.String({ format: "date-time", description: "When it was received." }),
  }),
);
