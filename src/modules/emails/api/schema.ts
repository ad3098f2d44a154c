import { Attachments, findAttachmentFaults, ListedAttachment } from "./attachment-schema.ts";
import { Type } from "@sinclair/typebox";
import {
  ATTEMPT_OUTCOMES,
  ENDED_STATUSES,
  RECIPIENT_KINDS,
  REPORT_KINDS,
  WAITING_STATES,
} from "../../../platform/db/schema/schema.ts";
import { SentBy } from "../../api-keys/schema.ts";
import { choice, type FieldError, objectWith, ONE_LINE, text } from "../../../platform/http/request-schemas.ts";
import { subjectFault } from "../../../protocols/mime/header.ts";
import { findFieldFaults, findPlaceholderFaults, UnsubscribeMember, UnsubscribeShown } from "./unsubscribe-schema.ts";
import { CATEGORIES } from "../../../protocols/smtp/replies/rules.ts";
import { SPEAKERS } from "../../../protocols/smtp/session/transcript.ts";
import { STAGES } from "../../../protocols/smtp/replies/stage.ts";
import { EXAMPLE_SEND_AT, sendAt } from "./send-at.ts";
import { named, bodyObject, namedObject } from "../../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../../platform/http/answer-schemas.ts";
import { headers, metadata, tag } from "./extra-schema.ts";
import { bcc, cc, findRecipientFaults, replyTo, sender, to } from "./mailbox-schema.ts";

export const MAX_SUBJECT = 255;
export const MAX_HTML = 1_000_000;
const MAX_TEXT = 100_000;
/** Items that a batch may hold under any plan. */
const MAX_BATCH = 1_000;

/** The text and html of an email may hold anything but half a character and NUL, which mail cannot carry. */
function body(maxLength: number, description: string) {
  return text({ maxLength, description }, (value) => (value.includes("\0") ? "must not hold the character NUL" : null));
}

/** It can be sent as it is, where example.com is a domain of the reader's. */
const EXAMPLE = {
  from: "Loja <loja@example.com>",
  to: "maria@example.net",
  subject: "O seu recibo",
  html: "<h1>Obrigado!</h1><p>O seu recibo vem a caminho.</p>",
  replyTo: "ajuda@example.com",
};

const WITH_EVERYTHING = {
  ...EXAMPLE,
  to: ["Ana Silva <ana@example.net>", "rui@example.net"],
  cc: "contas@example.net",
  text: "O seu recibo vem a caminho.",
  headers: { "X-Order": "4711" },
  tag: "receipt",
  metadata: { order: "4711" },
  unsubscribe: { url: "https://example.com/unsubscribe?id=8f1c" },
  sendAt: EXAMPLE_SEND_AT,
  attachments: [{ filename: "recibo.pdf", content: "JVBERi0xLjcKJSVFT0YK" }],
};

const Members = Type.Object(
  {
    from: sender,
    to,
    cc: Type.Optional(cc),
    bcc: Type.Optional(bcc),
    subject: text(
      {
        minLength: 1,
        maxLength: MAX_SUBJECT,
        pattern: ONE_LINE,
        description: "One line of text.",
        examples: ["O seu recibo"],
      },
      (value) =>
        // Its sentence begins with the member's name, as every fault's does.
        subjectFault(value)?.replace(/^The subject /, "") ?? null,
    ),
    html: Type.Optional(body(MAX_HTML, "The HTML part. Without `text`, a text part is made from it.")),
    text: Type.Optional(body(MAX_TEXT, "The text part. The empty string: no text part.")),
    replyTo: Type.Optional(replyTo),
    headers: Type.Optional(headers),
    tag: Type.Optional(tag),
    metadata: Type.Optional(metadata),
    unsubscribe: Type.Optional(UnsubscribeMember),
    sendAt: Type.Optional(sendAt("Not before this time")),
    attachments: Type.Optional(Attachments),
  },
  { additionalProperties: false },
);

/** The body of POST /emails and each item of a batch. */
export const EmailSend = named(
  "EmailSend",
  objectWith(
    Members,
    (value) =>
      findContentFaults(value).concat(
        findRecipientFaults(value),
        findAttachmentFaults(value.attachments),
        findPlaceholderFaults(value),
        findFieldFaults(value),
      ),
    { description: "`html` or `text` is required, and one of them must not be empty.", examples: [EXAMPLE] },
  ),
);

export type EmailSend = typeof Members.static;

export const EmailBatch = bodyObject(
  "EmailBatch",
  {
    emails: Type.Array(EmailSend, {
      minItems: 1,
      maxItems: MAX_BATCH,
      description: "Up to the limit of the plan.",
    }),
  },
  {
    examples: [{ emails: [EXAMPLE, WITH_EVERYTHING] }],
  },
);

/** An empty string counts as absent; another type is a fault of its own. */
function findContentFaults({ html, text: plain }: typeof Members.static): FieldError[] {
  const isFilled = (value: unknown) => value !== undefined && value !== "";
  if (isFilled(html) || isFilled(plain)) return [];
  return [{ path: ["html"], message: "or text is required", hint: "An empty string counts as absent." }];
}

/** The body of PATCH /emails/{id}. */
export const EmailChange = bodyObject(
  "EmailChange",
  { sendAt: sendAt("Its new time") },
  { examples: [{ sendAt: EXAMPLE_SEND_AT }] },
);

/** Cancel and change take one email, or all of its group. */
export const GroupQuery = Type.Object({
  group: Type.Optional(choice(["true"], "`true`: all emails of its request that wait, its other recipients'.")),
});

const Time = dateTime();

export const EMAIL_STATUSES = [...WAITING_STATES, ...ENDED_STATUSES] as const;

export type EmailStatus = (typeof EMAIL_STATUSES)[number];

const Status = oneOf(
  EMAIL_STATUSES,
  "Its status. `delivered`, `bounced`, `failed`, `complained`, `suppressed` and `canceled` are final; after " +
    "`delivered` it may still become `bounced` or `complained`. `sent` is final if the mail goes through a relay.",
  "delivered",
);

const Kind = oneOf(RECIPIENT_KINDS, "Where its recipient stands; a `bcc` stands in no header.", "to");

/** One of several recipients of a send, each of whom gets an email of its own. */
const EmailRecipient = namedObject("EmailRecipient", {
  id: identifier("The id of the recipient's own email."),
  address: Type.String({ description: "The recipient's address.", examples: ["maria@example.net"] }),
  kind: Kind,
  status: Status,
});

export const Accepted = namedObject("AcceptedEmail", {
  id: identifier("The email's id; of several recipients the first one's, and the group's."),
  status: oneOf(["queued", "scheduled"], "`scheduled` if it has a `sendAt` in the future, else `queued`.", "queued"),
  recipients: Type.Optional(
    Type.Array(EmailRecipient, {
      description:
        "Only for several recipients: the email of each, in the order to, cc, bcc. Nothing is sent to one that is `suppressed`.",
    }),
  ),
});
export type AcceptedEmail = typeof Accepted.static;
export const AcceptedBatch = Type.Array(Accepted);

/** An email as the list shows it: these members and no others, unless the caller asks for its status. */
export const EmailInList = Type.Object({
  id: identifier("The email's id."),
  from: Type.String({ description: "As it was given: bare, or with a name.", examples: ["Loja <loja@example.com>"] }),
  to: Type.String({ description: "The recipient.", examples: ["maria@example.net"] }),
  subject: Type.String({ description: "As it was given.", examples: ["O seu recibo"] }),
  providerId: orNull(
    Type.String(),
    "Its Message-ID without brackets; null before the first attempt.",
    "019aa2f0-7c1e-7b3a-9d52-4f0c6b8e1a27@example.com",
  ),
  createdAt: dateTime("When it was accepted."),
  sentAt: orNull(dateTime(), "When an attempt first reached the recipient's server.", "2026-11-21T12:00:01.214Z"),
  deliveredAt: orNull(dateTime(), "When the recipient's server took it.", "2026-11-21T12:00:01.890Z"),
});

/** The same with `?include=status`. */
export const EmailInListWithStatus = namedObject("EmailListItem", {
  ...EmailInList.properties,
  status: Type.Optional(Status),
});

function stringRecord() {
  return Type.Unsafe<Record<string, string>>({ type: "object", additionalProperties: { type: "string" } });
}

/** Why and where an email was refused. */
export const Bounce = namedObject("Bounce", {
  type: oneOf(["permanent", "transient", "undetermined"], "Whether it is permanent."),
  category: oneOf(CATEGORIES, "invalid_recipient, inactive_mailbox and bad_domain suppress the recipient."),
  smtpCode: orNull(Type.Integer(), "The server's reply code.", 550),
  enhancedCode: orNull(Type.String(), "Its enhanced status code.", "5.1.1"),
  mx: orNull(Type.String(), "The server that refused it.", "mx1.example.net"),
});

export type Bounce = typeof Bounce.static;

/** An email as GET by id answers it. */
export const EmailRecord = namedObject("Email", {
  ...EmailInList.properties,
  html: orNull(
    Type.String(),
    "Null: none was given, or the operator keeps contents no longer ([email] content_retention).",
    EXAMPLE.html,
  ),
  text: orNull(
    Type.String(),
    "As it was given, or made from the html. Null: there is none, or it is kept no longer.",
    "OBRIGADO!\n\nO seu recibo vem a caminho.",
  ),
  failedReason: orNull(Type.String(), "Why it was not delivered, once that is its end."),
  status: Status,
  replyTo: orNull(Type.String(), "Where answers go.", EXAMPLE.replyTo),
  attempts: Type.Integer({ description: "Attempts begun.", examples: [1] }),
  nextAttemptAt: orNull(dateTime(), "When it is tried next, while it waits."),
  sendAt: orNull(dateTime(), "It is not tried before this time. Null: it was sent at once."),
  lastReply: orNull(Type.String(), "While it is tried again: why the last attempt did not deliver."),
  possibleDuplicate: Type.Boolean({
    description:
      "It may arrive twice: the reply to an attempt was lost after the whole message had been sent, and it was retried; or it waited in a database that was restored from a backup, and may have been sent after the backup.",
  }),
  bounce: orNull(Bounce, "Why and where it was refused; null: it was not refused."),
  kind: Kind,
  toName: orNull(Type.String(), "The recipient's name, if one was given.", "Maria"),
  replyToAll: orNull(Type.Array(Type.String()), "All addresses where answers go, bare or with a name.", [
    "ajuda@example.com",
  ]),
  groupId: orNull(identifier(), "The id of the first email of a send to several recipients; null: it has only one."),
  recipients: orNull(Type.Array(EmailRecipient), "All recipients of the group; null: there is only this one."),
  headers: orNull(
    stringRecord(),
    "Its own header fields. Null: it has none, or the operator keeps contents no longer.",
    { "X-Order": "4711" },
  ),
  source: oneOf(["api", "smtp"], "How it came: by a request, or by SMTP.", "api"),
  tag: orNull(Type.String(), "Its tag.", "receipt"),
  metadata: orNull(stringRecord(), "The sender's own data.", { order: "4711" }),
  unsubscribe: orNull(UnsubscribeShown, "How its recipient unsubscribes."),
  attachments: Type.Array(ListedAttachment, {
    description:
      "Its attachments; the bytes of the first are at `/emails/{id}/attachments/0`, while they are kept ([email] attachment_retention).",
  }),
  sentBy: SentBy,
});

/** The record without what is the email's content, or tells of others: as events carry it. */
export const EmailInEvent = Type.Omit(EmailRecord, ["html", "text", "headers", "recipients", "attachments", "sentBy"]);

/** The same in the answer to a cancel or retry, which may have something to say. */
export const EmailRecordWithHint = namedObject("EmailWithHint", {
  ...EmailRecord.properties,
  hint: Type.Optional(Type.String({ description: "A warning: it may have arrived already." })),
});

/** One of the words, or null; the rows that it is read from hold it as text. */
function wordOrNull(words: readonly string[], description: string) {
  return Type.Unsafe<string | null>({ type: ["string", "null"], enum: [...words, null], description });
}

/** Where a connection went and what was said over it. */
const Connection = Type.Object({
  host: orNull(Type.String(), "The server's name.", "mx1.example.net"),
  address: orNull(Type.String(), "Its IP address.", "192.0.2.25"),
  tls: orNull(
    Type.String(),
    "Protocol and cipher; null: clear text, or no connection.",
    "TLSv1.3 TLS_AES_256_GCM_SHA384",
  ),
  stage: wordOrNull(STAGES, "Where it ended: on the way there, or at which command."),
  code: orNull(Type.Integer(), "The server's reply code."),
  enhancedCode: orNull(Type.String(), "Its enhanced status code."),
  reply: orNull(Type.String(), "The server's reply, or why there is none."),
});

const Try = namedObject("ConnectionTry", {
  ...Connection.properties,
  endedAt: dateTime("When it ended."),
  reused: Type.Boolean({ description: "Whether an open session of an earlier email was used." }),
});

const AttemptMembers = Type.Object({
  attempt: Type.Integer({ minimum: 1, description: "Its number, from 1." }),
  startedAt: dateTime("When it began."),
  endedAt: orNull(dateTime(), "When it ended; null while it runs."),
  outcome: Type.Union([...ATTEMPT_OUTCOMES.map((outcome) => Type.Literal(outcome)), Type.Null()], {
    description: "`unknown`: the whole message was sent, and the reply was lost. Null while it runs.",
  }),
  category: wordOrNull(CATEGORIES, "What the words mean; null: it was taken, or it runs."),
  egress: orNull(
    Type.String(),
    "The name of the operator's `[[egress]]` that it left by; null: it left from the server's own address or by a relay, or it runs.",
  ),
  ...Connection.properties,
  tries: orNull(
    Type.Array(Try),
    "All connections of the attempt in order, if there were several; the final result is above.",
  ),
});

/** A report that came by mail: its members beside those that an attempt has too, `category`, `host`, `code`, `enhancedCode`, `reply`. */
const ReportMembers = Type.Object({
  permanent: orNull(
    Type.Boolean(),
    "For a bounce: whether it is permanent. A permanent one ends an email that has not ended otherwise.",
  ),
  reporter: orNull(Type.String(), "The reporting server."),
  feedbackType: orNull(Type.String(), "For a complaint: its type, as reported.", "abuse"),
});

const Line = namedObject("DialogueLine", {
  ms: orNull(
    Type.Integer(),
    "Since the attempt began; below zero: said before it, when an earlier email opened the session. Null: not known.",
    31,
  ),
  by: oneOf(SPEAKERS, "Who says it; `connect`: where a connection goes, `note`: what happened."),
  text: Type.String({ description: "Without the message itself, and without what signs us in.", examples: ["EHLO a"] }),
});

export const TimelineQuery = Type.Object({
  include: Type.Optional(choice(["dialogue"], "`dialogue` adds the SMTP dialogue of each attempt that kept one.")),
});

/** One entry of an email's timeline: its status changed, an attempt was made, or a report came. */
export const TimelineEntry = namedObject("TimelineEntry", {
  type: Type.Union(
    [
      ...EMAIL_STATUSES.map((status) => Type.Literal(`email.${status}`)),
      ...REPORT_KINDS.map((kind) => Type.Literal(`report.${kind}`)),
    ],
    {
      description:
        "`email.…`: its status after this entry; `email.sending`: the running attempt, last in the list. " +
        "`report.…`: a report about it, by mail.",
    },
  ),
  at: Time,
  reason: orNull(Type.String(), "In the entry that ended it undelivered: the record's `failedReason`."),
  ...Type.Partial(AttemptMembers).properties,
  ...Type.Partial(ReportMembers).properties,
  dialogue: Type.Optional(
    orNull(Type.Array(Line), "Only with `include=dialogue`, of an attempt: what was said. Null: it is not kept."),
  ),
});
