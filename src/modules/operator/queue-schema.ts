import { Type } from "@sinclair/typebox";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { choice, type FieldError, checkLine, objectWith, text, uuid } from "../../platform/http/request-schemas.ts";
import { time } from "../../platform/http/times.ts";
import { KINDS } from "./queue-store.ts";
import { named } from "../../platform/http/openapi.ts";

const MAX_TO = 320;
const MAX_REASON = 200;
const MAX_IDS = 100;
const MAX_CURSOR = 512;

const closed = { additionalProperties: false };
const id = Type.String({ format: "uuid" });
const Time = Type.String({ format: "date-time" });
const MaybeTime = Type.Union([Time, Type.Null()]);
const MaybeText = Type.Union([Type.String(), Type.Null()]);

const to = text(
  {
    minLength: 1,
    maxLength: MAX_TO,
    description: "Emails to this domain, address or relay, or texts to this number, or to those that begin with it.",
    examples: ["example.com"],
  },
  checkLine,
);
const kind = choice(KINDS, "Which queue: of emails, of texts, of calls to webhooks.");

const ChoiceMembers = {
  to: Type.Optional(to),
  workspaceId: Type.Optional(uuid("Of this workspace alone.")),
  queuedBefore: Type.Optional(time("Accepted before this.")),
};

/** What a change is about. */
const ChangeMembers = {
  ids: Type.Optional(
    Type.Array(uuid("Of an email, a text, or an event whose calls wait."), { minItems: 1, maxItems: MAX_IDS }),
  ),
  ...ChoiceMembers,
  kinds: Type.Optional(
    Type.Array(kind, { minItems: 1, maxItems: KINDS.length, description: "By default every queue that it fits." }),
  ),
  cursor: Type.Optional(
    text({ minLength: 1, maxLength: MAX_CURSOR, description: "`next` of the answer before, with the same members." }),
  ),
};

const NARROWING = ["ids", "to", "workspaceId", "queuedBefore"] as const;
const SAY_WHICH = "or to, workspaceId or queuedBefore is required: say which messages are meant";

interface Narrowed {
  ids?: string[];
  to?: string;
  workspaceId?: string;
  queuedBefore?: string;
  cursor?: string;
}

/** Ids say all; the others may be given together. */
function ambiguity(given: Narrowed): FieldError | null {
  const others = ["to", "workspaceId", "queuedBefore", "kinds", "cursor"] as const;
  if (given.ids === undefined || others.every((name) => (given as Record<string, unknown>)[name] === undefined))
    return null;
  return { path: ["ids"], message: "say exactly which messages are meant: give nothing beside them" };
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
              description: "Why; it stands in the failedReason of each.",
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
      description: "`ids` alone; or one or more of `to`, `workspaceId` and `queuedBefore`.",
      examples: [{ to: "example.com", reason: "the list was sent by mistake" }],
    },
  ),
);

export const QueueRetry = named(
  "QueueRetry",
  objectWith(
    Type.Object({ ...ChangeMembers, all: Type.Optional(Type.Boolean({ description: "`true`: every one." })) }, closed),
    (given) => {
      const isNarrowed = NARROWING.some((name) => given[name] !== undefined);
      if (isNarrowed && given.all === true)
        return { path: ["all"], message: "means every one, and the others choose some: give one or the other" };
      if (isNarrowed || given.all === true) return ambiguity(given);
      return { path: ["ids"], message: SAY_WHICH, hint: '"all": true means every one.' };
    },
    {
      description: "`ids` alone; or one or more of `to`, `workspaceId` and `queuedBefore`; or `all`.",
      examples: [{ to: "example.com" }],
    },
  ),
);

const CountsByKind = named(
  "QueueCounts",
  Type.Object({ email: Type.Integer(), sms: Type.Integer(), webhook: Type.Integer() }),
);

export const QueueChanged = named(
  "QueueChanged",
  Type.Object({
    changed: CountsByKind,
    running: Type.Object(CountsByKind.properties, {
      description: "These match too, but were being delivered at that moment; they were not changed.",
    }),
    unknown: Type.Array(Type.String(), { description: "Ids that nothing has.", examples: [[]] }),
    ended: Type.Array(Type.String(), {
      description: "Ids of messages that do not wait (any more).",
      examples: [[]],
    }),
    next: Type.Union([Type.String(), Type.Null()], {
      description: "Not null: only a part is done; send the same request with this as its `cursor` to go on.",
    }),
  }),
);

export const QueueListQuery = Type.Object({
  ...CursorQuery.properties,
  ...ChoiceMembers,
  kind: Type.Optional(kind),
});

/** A message that waits, or is under way. */
export const QueuedMessage = named(
  "QueuedMessage",
  Type.Object({
    kind: Type.Union(KINDS.map((one) => Type.Literal(one))),
    id: Type.String({ format: "uuid", description: "The id of the email or text; for a call the id of its event." }),
    workspaceId: Type.Union([id, Type.Null()]),
    to: Type.String({ description: "The recipient, or the URL that is called." }),
    queuedAt: Time,
    state: Type.String({ description: "queued, sending or delivery_delayed." }),
    attempts: Type.Integer(),
    nextAttemptAt: MaybeTime,
    expiresAt: MaybeTime,
    lastReply: MaybeText,
  }),
);

const DESTINATION_STATES = ["paused", "held", "blocked", "running", "due", "delayed"] as const;

/** How much waits for one destination, and why. */
export const QueuedDestination = named(
  "QueuedDestination",
  Type.Object({
    to: Type.String({ description: "The recipient domain, or the relay." }),
    site: Type.Union([Type.String(), Type.Null()], {
      description: "The mail servers behind it; null: not asked for yet since the start.",
    }),
    waiting: Type.Integer(),
    running: Type.Integer(),
    held: Type.Integer({ description: "How many of them belong to workspaces whose queue you hold." }),
    oldestAt: MaybeTime,
    nextAttemptAt: MaybeTime,
    state: Type.Unsafe<(typeof DESTINATION_STATES)[number]>(
      Type.Union(
        DESTINATION_STATES.map((state) => Type.Literal(state)),
        {
          description:
            "Why it waits: all delivery is paused; you hold it; its site is blocked until `blockedUntil`; it goes out now; its turn comes; its next attempt has a time.",
        },
      ),
    ),
    reason: Type.Union([Type.String(), Type.Null()], { description: "What was said last." }),
    blockedUntil: MaybeTime,
  }),
);

const QueuedRoute = named(
  "QueuedRoute",
  Type.Object({
    route: Type.String(),
    waiting: Type.Integer(),
    isMinimum: Type.Boolean({ description: "More wait than were counted." }),
    running: Type.Integer({ description: "Segments under way, or whose answer was lost." }),
    oldestAt: MaybeTime,
    nextAttemptAt: MaybeTime,
    reason: MaybeText,
  }),
);

const QueuedWebhook = named(
  "QueuedWebhook",
  Type.Object({
    id,
    workspaceId: Type.Union([id, Type.Null()]),
    url: Type.String(),
    waiting: Type.Integer(),
    isMinimum: Type.Boolean({ description: "More wait than were counted." }),
    nextAttemptAt: MaybeTime,
    reason: MaybeText,
  }),
);

export const Paused = Type.Union(
  [
    Type.Object({
      since: Time,
      reason: Type.String(),
      restorePoint: Type.Union([Time, Type.Null()], {
        description: "After a restore: what was queued before this may have been delivered since.",
      }),
    }),
    Type.Null(),
  ],
  { description: "Not null: nothing is delivered until the operator resumes." },
);

/** What a pause and its end answer. */
export const DeliveryState = named("DeliveryState", Type.Object({ paused: Paused }));

export const QueuePause = named(
  "QueuePause",
  Type.Object(
    {
      reason: Type.Optional(
        text(
          {
            minLength: 1,
            maxLength: MAX_REASON,
            description: "Why; shown wherever the pause is.",
            examples: ["our address is on a list"],
          },
          checkLine,
        ),
      ),
    },
    closed,
  ),
);

export const QueueOverview = named(
  "QueueOverview",
  Type.Object({
    paused: Paused,
    waiting: Type.Integer({ description: "Emails, those under way not counted." }),
    running: Type.Integer({ description: "Emails." }),
    destinations: Type.Array(QueuedDestination, { description: "Where most emails wait, first." }),
    others: Type.Object(
      { destinations: Type.Integer(), waiting: Type.Integer() },
      { description: "What is not among them." },
    ),
    sms: Type.Array(QueuedRoute),
    webhooks: Type.Array(QueuedWebhook),
  }),
);
