import { Type } from "@sinclair/typebox";
import { Paused } from "./queue-schema.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";

const Time = dateTime();
const MaybeTime = orNull(Time);
const MaybeText = orNull(Type.String());

const Waiting = Type.Object({
  waiting: Type.Integer(),
  isMinimum: Type.Boolean({ description: "At least so many wait; not all were counted." }),
  oldestAt: MaybeTime,
});

const Drill = orNull(
  Type.Object({
    at: Time,
    outcome: oneOf(["good", "bad", "skipped"], "What it came to."),
    words: Type.String({ description: "The result, or why it was skipped." }),
    goodAt: orNull(Time, "When the last good one was."),
  }),
  "The last restore drill; null: none yet.",
);

export const InstanceStatus = namedObject("InstanceStatus", {
  version: Type.String({ description: "Of this executable.", examples: ["0.1.0"] }),
  commit: Type.String({ description: "The source that this executable was built from.", examples: ["4f0c6b8"] }),
  startedAt: Time,
  ready: Type.Boolean({ description: "It accepts and sends, as in GET /ready." }),
  issues: Type.Array(
    Type.Object({
      component: Type.String(),
      reason: Type.String({ description: "The problem, and how to solve it." }),
      since: MaybeTime,
    }),
    { description: "Empty: there are no issues." },
  ),
  paused: Paused,
  queue: Type.Object({
    emails: Type.Object({
      ...Waiting.properties,
      running: Type.Integer(),
      delayed: Type.Integer({ description: "How many of them wait for another attempt." }),
      scheduled: Type.Integer({ description: "How many more wait for their `sendAt`." }),
    }),
    sms: Type.Object(Waiting.properties, { description: "Segments." }),
    webhooks: Waiting,
  }),
  lastMinutes: Type.Object(
    {
      minutes: Type.Integer({ description: "How many minutes.", examples: [5] }),
      accepted: Type.Integer(),
      delivered: Type.Integer({ description: "How many were delivered." }),
      deferred: Type.Integer({ description: "How many are tried again later." }),
      bounced: Type.Integer({ description: "How many were refused for good." }),
      failed: Type.Integer({ description: "How many were given up." }),
    },
    { description: "Emails, including the current minute." },
  ),
  disk: Type.Object({
    freeBytes: orNull(Type.Integer(), "Bytes that are free; null: not known.", 21474836480),
    daysLeft: orNull(
      Type.Integer(),
      "Days until the disk is too full to accept messages, at the growth of the last week; null: it does not grow, or not known yet.",
      412,
    ),
    databaseBytes: Type.Integer({ description: "Size of the database.", examples: [52428800] }),
    walBytes: Type.Integer({ description: "Size of the write-ahead log." }),
  }),
  blockedSites: Type.Object({
    count: Type.Integer({ description: "How many." }),
    sites: Type.Array(
      Type.Object({
        site: Type.String(),
        workspaceId: orNull(
          Type.String(),
          "Set if only the mail of this workspace is blocked, as only its mail got such replies. Null: all mail is blocked.",
        ),
        until: dateTime("Until when."),
        reason: Type.String(),
      }),
    ),
  }),
  sms: Type.Array(
    Type.Object({
      route: Type.String(),
      links: Type.Integer({ description: "How many links it has." }),
      bound: Type.Integer({ description: "How many of its links are bound." }),
      reason: orNull(Type.String(), "Why the last session of an unbound link ended."),
    }),
  ),
  workspaces: Type.Object({
    blocked: Type.Integer({ description: "How many are blocked." }),
    held: Type.Integer({ description: "How many of them have a held queue." }),
    some: Type.Array(
      Type.Object({
        id: identifier(),
        name: Type.String(),
        held: Type.Boolean({ description: "Whether, or how many of them, wait until a block is lifted." }),
        by: oneOf(["operator", "rate"]),
        reason: MaybeText,
      }),
    ),
  }),
  replication: orNull(
    Type.Object({
      state: Type.String(),
      reason: MaybeText,
      lastAt: orNull(Time, "When the copy was last whole."),
      drill: Drill,
    }),
    "The replication of the database; null: it is not set up.",
  ),
});
