import { type TSchema, Type } from "@sinclair/typebox";
import { DEFAULT_SMS_PREFIXES } from "../config.ts";
import { DELIVERY_STATES, FAILURE_CATEGORIES, SMS_STATUSES } from "../db/schema-sms.ts";
import { CursorQuery } from "../http/pagination.ts";
import { choice, hinted, text } from "../http/rules.ts";
import { bodyFault } from "./encoding.ts";
import { numberAdvice } from "./number.ts";

const MAX_BODY = 1_600;
const MAX_FROM = 20;
/** Longer than any way of writing a number: what is no number is told so. */
const MAX_NUMBER = 40;
/** Digits of a Mozambican number with its country code. */
const NUMBER_DIGITS = 12;

/** The interface's own rule, for the interface's own prefixes. */
const DEFAULT_PATTERN = String.raw`^\+2588[2-7]\d{7}$`;

/** The numbers that can be texted, as a pattern. */
function numberPattern(prefixes: readonly string[]): string {
  const isDefault =
    prefixes.length === DEFAULT_SMS_PREFIXES.length &&
    DEFAULT_SMS_PREFIXES.every((prefix) => prefixes.includes(prefix));
  if (isDefault) return DEFAULT_PATTERN;
  const forms = prefixes.map((prefix) => String.raw`${prefix}\d{${NUMBER_DIGITS - prefix.length}}`);
  return String.raw`^\+(?:${forms.join("|")})$`;
}

/** A number that can be texted. */
export function number(prefixes: readonly string[], description: string) {
  const pattern = numberPattern(prefixes);
  const allowed = new RegExp(pattern);
  const plain = text({ maxLength: MAX_NUMBER, pattern, description, examples: ["+258841234567"] }, (value) =>
    allowed.test(value)
      ? null
      : "must be a Mozambican mobile number in E.164: + and the country code, then digits alone, like +258841234567",
  );
  return hinted(plain, (value) =>
    typeof value === "string" && value.length <= MAX_NUMBER
      ? numberAdvice(value, { prefixes, length: NUMBER_DIGITS })
      : null,
  );
}

const body = text(
  {
    minLength: 1,
    maxLength: MAX_BODY,
    // As bodyFault has it.
    pattern: String.raw`^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$`,
    description:
      "The text. A segment is 160 characters of the GSM alphabet, or 70 where one is not in it. A tab is sent as a space.",
    examples: ["O seu código é 482913."],
  },
  (value) => bodyFault(value),
);

const closed = { additionalProperties: false };

/** The body of POST /sms. */
export function smsSend(prefixes: readonly string[]) {
  return Type.Object(
    {
      to: number(prefixes, "The recipient, in E.164."),
      body,
      from: Type.Optional(
        text({
          minLength: 1,
          maxLength: MAX_FROM,
          description: "A sender id of the workspace; without one its default.",
          examples: ["Loja Maria"],
        }),
      ),
    },
    { ...closed, examples: [{ to: "+258841234567", body: "O seu código é 482913." }] },
  );
}

export type SmsSend = ReturnType<typeof smsSend>["static"];

/** The body of POST /sms/preview. */
export function smsPreview(prefixes: readonly string[]) {
  return Type.Object(
    { to: Type.Optional(number(prefixes, "Picks the route whose way of joining parts counts.")), body },
    { ...closed, examples: [{ body: "Não partilhe este código com ninguém." }] },
  );
}

/** The query of GET /sms. */
export function smsQuery(prefixes: readonly string[]) {
  return Type.Object({
    ...CursorQuery.properties,
    status: Type.Optional(choice(SMS_STATUSES, "What became of it.")),
    to: Type.Optional(number(prefixes, "The recipient, in E.164; with a + written as %2B.")),
  });
}

const Time = Type.String({ format: "date-time" });
const nullable = (schema: TSchema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
const NullableText = Type.Union([Type.String(), Type.Null()]);
const NullableTime = Type.Union([Time, Type.Null()]);
const words = <const Word extends string>(all: readonly Word[]) =>
  Type.Unsafe<Word>(Type.Union(all.map((word) => Type.Literal(word))));
const nullableWords = <const Word extends string>(all: readonly Word[], description: string) =>
  Type.Unsafe<Word | null>(nullable(words(all), description));

export const AcceptedSms = Type.Object({ id: Type.String({ format: "uuid" }), status: Type.Literal("queued") });

const Encoding = words(["gsm7", "ucs2"]);

/** A text as the API shows it. */
export const SmsRecord = Type.Object({
  id: Type.String({ format: "uuid" }),
  to: Type.String({ examples: ["+258841234567"] }),
  from: Type.String({ examples: ["Loja Maria"] }),
  body: Type.String(),
  status: words(SMS_STATUSES),
  deliveryState: nullableWords(DELIVERY_STATES, "The network's word; null before it was submitted."),
  failureCategory: nullableWords(FAILURE_CATEGORIES, "Null while nothing is wrong."),
  providerStatus: Type.Union([Type.String(), Type.Null()], { examples: ["DELIVRD"] }),
  providerErrorCode: Type.Union([Type.String(), Type.Null()], { examples: ["0x00000058"] }),
  providerId: NullableText,
  failedReason: NullableText,
  createdAt: Time,
  sentAt: NullableTime,
  deliveredAt: NullableTime,
  lastEventAt: NullableTime,
  segments: Type.Integer({ minimum: 1 }),
  encoding: Encoding,
  credits: Type.Integer({ minimum: 0, description: "One a segment, less those given back." }),
  possibleDuplicate: Type.Boolean({
    description:
      "It may arrive twice: an answer was lost and it was sent again; or it waited in a database that was put back from a backup, and may have been sent since that was made.",
  }),
});

const Cost = { encoding: Encoding, segments: Type.Integer({ minimum: 1 }), credits: Type.Integer({ minimum: 1 }) };

/** What a text would cost. */
export const SmsPreview = Type.Object({
  ...Cost,
  sentText: Type.String({
    description: "What will be sent: a tab is a space, and letters are replaced where the operator has it folded.",
  }),
  offending: Type.Array(Type.String(), { description: "The characters that force UCS-2, each once." }),
  folded: Type.Union([Type.Object({ body: Type.String(), ...Cost }), Type.Null()], {
    description:
      "With accents and punctuation replaced, where that takes fewer segments; so it is sent if the operator has it folded.",
  }),
  unitsUsed: Type.Integer({ minimum: 1, description: "Septets, or units of UTF-16." }),
  unitsLeft: Type.Integer({ minimum: 0, description: "How many more the last segment could take." }),
});

/** A text received. */
export const InboundSms = Type.Object({
  id: Type.String({ format: "uuid" }),
  from: Type.String({ examples: ["+258841234567"] }),
  to: Type.String({ examples: ["84000"] }),
  body: Type.String(),
  receivedAt: Time,
});
