import { Type } from "@sinclair/typebox";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { choice, type FieldError, checkLine, objectWith, text, uuid } from "../../platform/http/request-schemas.ts";
import { time } from "../../platform/http/times.ts";
import { KINDS } from "./queue-filter.ts";
import { named, namedObject, bodyObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";

const MAX_TO = 320;
const MAX_REASON = 200;
const MAX_IDS = 100;
const MAX_CURSOR = 512;

const closed = { additionalProperties: false };
const id = identifier();
const Time = dateTime();
const MaybeTime = orNull(Time);
const MaybeText = orNull(Type.String());

const to = text(
  {
    minLength: 1,
    maxLength: MAX_TO,
    description: "Emails to this domain, address or relay, or SMS to this number, or to numbers that begin so.",
    examples: ["example.com"],
  },
  checkLine,
);
const kind = choice(KINDS, "The queue: emails, SMS, or webhook calls.");

const FilterMembers = {
  to: Type.Optional(to),
  workspaceId: Type.Optional(uuid("Only of this workspace.")),
  queuedBefore: Type.Optional(time("Accepted before this, and not scheduled for a time that has yet to come.")),
};

/** The messages to change. */
const ChangeMembers = {
  ids: Type.Optional(
    Type.Array(uuid("The id of an email or SMS, or of an event whose calls wait."), { minItems: 1, maxItems: MAX_IDS }),
  ),
  ...FilterMembers,
  kinds: Type.Optional(
    Type.Array(kind, { minItems: 1, maxItems: KINDS.length, description: "Default: all queues that the filter fits." }),
  ),
  cursor: Type.Optional(
    text({
      minLength: 1,
      maxLength: MAX_CURSOR,
      description: "`next` of the previous answer; the other members stay the same.",
    }),
  ),
};

const NARROWING = ["ids", "to", "workspaceId", "queuedBefore"] as const;
const SAY_WHICH = "or to, workspaceId or queuedBefore is required, to choose the messages";

interface Narrowed {
  ids?: string[];
  to?: string;
  workspaceId?: string;
  queuedBefore?: string;
  cursor?: string;
}

/** Ids exclude all other filters. */
function ambiguity(given: Narrowed): FieldError | null {
  const others = ["to", "workspaceId", "queuedBefore", "kinds", "cursor"] as const;
  if (given.ids === undefined || others.every((name) => (given as Record<string, unknown>)[name] === undefined))
    return null;
  return { path: ["ids"], message: "cannot be combined with other filters" };
}

export const QueueDrop = named(
  "QueueDrop",
  objectWith(
    Type.Object(
      {
        ...ChangeMembers,
        reason: Type.Optional(
          text(
            {
              minLength: 1,
              maxLength: MAX_REASON,
              description: "The reason; it becomes part of the failedReason of each.",
              examples: ["the list was sent by mistake"],
            },
            checkLine,
          ),
        ),
        dryRun: Type.Optional(Type.Boolean({ description: "Only count what would be dropped." })),
      },
      closed,
    ),
    (given) => {
      if (NARROWING.every((name) => given[name] === undefined)) return { path: ["ids"], message: SAY_WHICH };
      return ambiguity(given);
    },
    {
      description: "Either `ids`, or one or more of `to`, `workspaceId` and `queuedBefore`.",
      examples: [{ to: "example.com", reason: "the list was sent by mistake" }],
    },
  ),
);

export const QueueRetry = named(
  "QueueRetry",
  objectWith(
    Type.Object(
      { ...ChangeMembers, all: Type.Optional(Type.Boolean({ description: "`true`: all messages." })) },
      closed,
    ),
    (given) => {
      const isNarrowed = NARROWING.some((name) => given[name] !== undefined);
      if (isNarrowed && given.all === true) return { path: ["all"], message: "cannot be combined with other filters" };
      if (isNarrowed || given.all === true) return ambiguity(given);
      return { path: ["ids"], message: SAY_WHICH, hint: '"all": true chooses all messages.' };
    },
    {
      description: "Either `ids`, or one or more of `to`, `workspaceId` and `queuedBefore`, or `all`.",
      examples: [{ to: "example.com" }],
    },
  ),
);

const CountsByKind = namedObject("QueueCounts", {
  email: Type.Integer(),
  sms: Type.Integer(),
  webhook: Type.Integer(),
});

export const QueueChanged = namedObject("QueueChanged", {
  changed: CountsByKind,
  running: Type.Object(CountsByKind.properties, {
    description: "These match too, but were being delivered, and were not changed.",
  }),
  unknown: Type.Array(Type.String(), { description: "Unknown ids.", examples: [[]] }),
  ended: Type.Array(Type.String(), {
    description: "Ids of messages that are not waiting.",
    examples: [[]],
  }),
  next: orNull(Type.String(), "Not null: only a part is done. Repeat the request with this as its `cursor` to go on."),
});

export const QueueListQuery = Type.Object({
  ...CursorQuery.properties,
  ...FilterMembers,
  kind: Type.Optional(kind),
});

export const QueuedMessage = namedObject("QueuedMessage", {
  kind: oneOf(KINDS),
  id: identifier("The id of the email or SMS; for a webhook call, of its event."),
  workspaceId: orNull(id),
  to: Type.String({ description: "The recipient, or the URL of the webhook." }),
  queuedAt: dateTime("When it was accepted."),
  state: Type.String({ description: "scheduled, queued, sending or delivery_delayed." }),
  attempts: Type.Integer(),
  nextAttemptAt: MaybeTime,
  expiresAt: MaybeTime,
  lastReply: orNull(Type.String(), "What was said last."),
});

const QueuedDestination = namedObject("QueuedDestination", {
  to: Type.String({ description: "The recipient domain, or the relay." }),
  site: orNull(Type.String(), "Its mail servers; null: not looked up since the start."),
  waiting: Type.Integer(),
  running: Type.Integer(),
  held: Type.Integer({ description: "How many of them are in workspaces whose queue you hold." }),
  oldestAt: MaybeTime,
  nextAttemptAt: MaybeTime,
  state: oneOf(
    ["paused", "held", "blocked", "running", "due", "delayed"],
    "paused: all delivery is paused. held: you hold the queue of its workspaces. blocked: the site is blocked until `blockedUntil`. running: it is being delivered. due: it waits for a slot. delayed: it waits for its next attempt.",
  ),
  reason: orNull(Type.String(), "The last reply, or the reason of the block."),
  blockedUntil: orNull(Time, "Until when it is blocked."),
});

const QueuedRoute = namedObject("QueuedRoute", {
  route: Type.String(),
  waiting: Type.Integer(),
  isMinimum: Type.Boolean({ description: "At least so many wait; not all were counted." }),
  running: Type.Integer({ description: "Segments in flight, or with a lost response." }),
  oldestAt: MaybeTime,
  nextAttemptAt: MaybeTime,
  reason: MaybeText,
});

const QueuedWebhook = namedObject("QueuedWebhook", {
  id,
  workspaceId: orNull(id),
  url: Type.String(),
  waiting: Type.Integer(),
  isMinimum: Type.Boolean({ description: "At least so many wait; not all were counted." }),
  nextAttemptAt: MaybeTime,
  reason: MaybeText,
});

export const Paused = orNull(
  Type.Object({
    since: Time,
    reason: Type.String(),
    restorePoint: orNull(Time, "After a restore: messages queued before this may have been delivered since."),
  }),
  "Not null: nothing is delivered until the operator resumes delivery.",
);

export const DeliveryState = namedObject("DeliveryState", { paused: Paused });

export const QueuePause = bodyObject("QueuePause", {
  reason: Type.Optional(
    text(
      {
        minLength: 1,
        maxLength: MAX_REASON,
        description: "The reason; shown with the pause.",
        examples: ["our address is on a list"],
      },
      checkLine,
    ),
  ),
});

export const QueueOverview = namedObject("QueueOverview", {
  paused: Paused,
  waiting: Type.Integer({ description: "Emails, without those being delivered or scheduled." }),
  running: Type.Integer({ description: "Emails being delivered." }),
  scheduled: Type.Integer({ description: "Emails scheduled for a time that has yet to come." }),
  destinations: Type.Array(QueuedDestination, { description: "The destinations with the most emails first." }),
  others: Type.Object(
    { destinations: Type.Integer({ description: "Where messages wait." }), waiting: Type.Integer() },
    { description: "The destinations left out." },
  ),
  sms: Type.Array(QueuedRoute),
  webhooks: Type.Array(QueuedWebhook),
});
