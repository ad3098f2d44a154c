// The operator's view of links and their tests, as the API has it.

import { Type } from "@sinclair/typebox";
import { integer, integerText, text } from "../../../platform/http/request-schemas.ts";
import type { NumberingPlan } from "../encoding/phone-number.ts";
import { SUBMIT_OUTCOMES } from "../gateway/link-status.ts";
import { nullableText, nullableTime, number } from "./schema.ts";
import { TEST_MESSAGES } from "../link-test/messages.ts";
import { named } from "../../../platform/http/openapi.ts";

const NAME_CHARACTERS = 64;
const MAX_WAIT_S = 3_600;
const MAX_FROM = 20;
const MAX_EVENTS = 500;

const time = (description: string) => Type.String({ format: "date-time", description });
const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, options: object = {}) =>
  Type.Union([schema, Type.Null()], options);
const count = Type.Integer({ minimum: 0 });
const nullableNumber = (description: string) => orNull(Type.Integer(), { description });

export const LINK_STATES = ["bound", "partly", "connecting", "waiting", "refused", "closed", "not_running"] as const;

export const OperatorLink = named(
  "SmsLink",
  Type.Object({
    route: Type.String({ examples: ["vodacom"] }),
    name: Type.String({ examples: ["vodacom-a"] }),
    host: Type.String({ examples: ["smsc.example.net"] }),
    port: Type.Integer({ examples: [2775] }),
    tls: Type.Union(["verified", "unverified", "none"].map((each) => Type.Literal(each))),
    state: Type.Unsafe<(typeof LINK_STATES)[number]>(
      Type.Union(
        LINK_STATES.map((state) => Type.Literal(state)),
        {
          description:
            "`waiting`: for the next attempt. `partly`: one of a pair is bound. `not_running`: no instance runs.",
        },
      ),
    ),
    since: nullableTime("Bound since then, or not bound since then."),
    retryAt: nullableTime("When it connects again."),
    window: Type.Object({ size: Type.Integer({ minimum: 1 }), used: count }),
    rate: Type.Object({
      configured: Type.Number({
        description: "Maximal segments a second; while the provider throttles, as many as it accepts.",
      }),
      now: Type.Number({ description: "The rate now; below `configured` after the SMSC throttled." }),
    }),
    ids: nullableText(
      "How an id of a receipt becomes the one of an answer: configured, or learned; null: not known yet.",
    ),
    lastError: orNull(
      Type.Object({
        at: time("When it happened."),
        reason: Type.String(),
        statusName: nullableText("As ESME_RINVPASWD; null: it was no answer."),
        advice: nullableText("What to do; null: it passes by itself."),
      }),
    ),
    submits: Type.Object(
      Object.fromEntries(SUBMIT_OUTCOMES.map((outcome) => [outcome, count])) as Record<
        (typeof SUBMIT_OUTCOMES)[number],
        typeof count
      >,
      { description: "Since the start." },
    ),
    receipts: count,
    inbound: count,
    reconnects: count,
  }),
);

export const LinkHistory = named(
  "SmsLinkHistory",
  Type.Object({
    events: Type.Array(
      Type.Object({
        at: time("When."),
        link: Type.String(),
        kind: Type.String({ examples: ["bound", "lost", "refused", "throttled"] }),
        detail: nullableText("In words."),
      }),
      { description: "The newest first." },
    ),
    pdus: Type.Array(
      Type.Object({
        at: time("When."),
        link: Type.String(),
        direction: Type.Union([Type.Literal("out"), Type.Literal("in")], { description: "`out`: to the SMSC." }),
        command: Type.String({ examples: ["submit_sm"] }),
        sequence: Type.Integer(),
        status: Type.Integer(),
        statusName: nullableText("Of an answer."),
        raw: Type.String({
          description: "Hexadecimal; message texts and numbers are ·· unless [log] addresses allows them.",
        }),
      }),
      { description: "The last PDUs since the start, newest first, without binds and enquire_links." },
    ),
  }),
);

const name = (description: string) => text({ minLength: 1, maxLength: NAME_CHARACTERS, description });

export const LinkHistoryQuery = Type.Object({
  link: Type.Optional(name("The link; else all.")),
  limit: Type.Optional(integerText({ minimum: 1, maximum: MAX_EVENTS, default: 50, description: "Events." })),
});

export function linkTestBody(numbering: NumberingPlan) {
  return named(
    "SmsLinkTestStart",
    Type.Object(
      {
        to: number(numbering, "A phone in your hand, in E.164."),
        from: Type.Optional(
          text({
            minLength: 1,
            maxLength: MAX_FROM,
            description: "A sender id that the network has registered; default: Pombo.",
            examples: ["Loja Maria"],
          }),
        ),
        route: Type.Optional(name("The route; else the one that the number goes by.")),
        link: Type.Optional(name("One of its links; else one that is bound.")),
        waitS: Type.Optional(
          integer({ minimum: 1, maximum: MAX_WAIT_S, description: "Seconds to wait for receipts; default: 60." }),
        ),
      },
      { additionalProperties: false, examples: [{ to: numbering.example, from: "Loja Maria", waitS: 60 }] },
    ),
  );
}

export const LinkTestQuery = Type.Object({
  after: Type.Optional(
    integerText({ minimum: 0, maximum: 1_000_000, default: 0, description: "Lines up to this number are left out." }),
  ),
});

const KINDS = ["link", "submit", "answer", "receipt", "silence"] as const;
/**
 * `delivered`: all three. `unconfirmed`: the SMSC took them, and not all receipts came. `failed`: one was refused, not
 * answered or not delivered. `not_sent`: nothing was written. `stopped`: by the operator, before it was through.
 */
const RESULTS = ["delivered", "unconfirmed", "failed", "not_sent", "stopped"] as const;

export const LinkTestRecord = named(
  "SmsLinkTest",
  Type.Object({
    id: Type.String({ format: "uuid" }),
    route: Type.String(),
    link: nullableText("Null: the route has none."),
    to: Type.String(),
    lines: Type.Array(
      Type.Object({
        no: Type.Integer({ minimum: 1 }),
        at: time("When."),
        kind: Type.Unsafe<(typeof KINDS)[number]>(Type.Union(KINDS.map((kind) => Type.Literal(kind)))),
        text: Type.Unsafe<(typeof TEST_MESSAGES)[number] | null>(
          orNull(Type.Union(TEST_MESSAGES.map((each) => Type.Literal(each)))),
        ),
        part: nullableNumber("Of the message, from 1."),
        sequence: nullableNumber("The PDU's sequence_number."),
        dataCoding: nullableNumber("Of a submit."),
        esmClass: nullableNumber("Of a submit."),
        status: nullableNumber("command_status of an answer."),
        statusName: nullableText("As ESME_ROK."),
        messageId: nullableText("Of an answer."),
        ms: nullableNumber("From the submit to its answer."),
        receipt: orNull(
          Type.Object({
            id: nullableText("As the SMSC wrote it."),
            conversion: nullableText("What made it the id of the answer; null: it fits none."),
            state: Type.String(),
            word: nullableText("The SMSC's own."),
            err: nullableText("As the SMSC wrote it."),
          }),
        ),
        raw: nullableText("The PDU in hexadecimal."),
        words: Type.String(),
      }),
    ),
    verdict: orNull(
      Type.Object({
        result: Type.Unsafe<(typeof RESULTS)[number]>(Type.Union(RESULTS.map((each) => Type.Literal(each)))),
        sentences: Type.Array(Type.String(), {
          description: "The result of each message, and the settings of the route to change.",
        }),
      }),
      { description: "Null: the test is running." },
    ),
  }),
);
