import { Type } from "@sinclair/typebox";
import { Paused } from "./queue-schema.ts";
import { named } from "../../platform/http/openapi.ts";

const Time = Type.String({ format: "date-time" });
const MaybeTime = Type.Union([Time, Type.Null()]);
const MaybeText = Type.Union([Type.String(), Type.Null()]);

const Waiting = Type.Object({
  waiting: Type.Integer(),
  isMinimum: Type.Boolean({ description: "At least so many wait; not all were counted." }),
  oldestAt: MaybeTime,
});

const Drill = Type.Union(
  [
    Type.Object({
      at: Time,
      outcome: Type.Union([Type.Literal("good"), Type.Literal("bad"), Type.Literal("skipped")]),
      words: Type.String({ description: "The result, or why it was skipped." }),
      goodAt: MaybeTime,
    }),
    Type.Null(),
  ],
  { description: "The last restore drill; null: none yet." },
);

export const InstanceStatus = named(
  "InstanceStatus",
  Type.Object({
    version: Type.String(),
    commit: Type.String(),
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
      }),
      sms: Type.Object(Waiting.properties, { description: "Segments." }),
      webhooks: Waiting,
    }),
    lastMinutes: Type.Object(
      {
        minutes: Type.Integer(),
        accepted: Type.Integer(),
        delivered: Type.Integer(),
        deferred: Type.Integer(),
        bounced: Type.Integer(),
        failed: Type.Integer(),
      },
      { description: "Emails, including the current minute." },
    ),
    disk: Type.Object({
      freeBytes: Type.Union([Type.Integer(), Type.Null()]),
      databaseBytes: Type.Integer(),
      walBytes: Type.Integer(),
    }),
    blockedSites: Type.Object({
      count: Type.Integer(),
      sites: Type.Array(
        Type.Object({
          site: Type.String(),
          workspaceId: Type.Union([Type.String(), Type.Null()], {
            description:
              "Set if only the mail of this workspace is blocked, as only its mail got such replies. Null: all mail is blocked.",
          }),
          until: Time,
          reason: Type.String(),
        }),
      ),
    }),
    sms: Type.Array(
      Type.Object({
        route: Type.String(),
        links: Type.Integer(),
        bound: Type.Integer({ description: "How many of its links are bound." }),
        reason: Type.Union([Type.String(), Type.Null()], {
          description: "Why the last session of an unbound link ended.",
        }),
      }),
    ),
    workspaces: Type.Object({
      blocked: Type.Integer(),
      held: Type.Integer({ description: "How many of them have a held queue." }),
      some: Type.Array(
        Type.Object({
          id: Type.String({ format: "uuid" }),
          name: Type.String(),
          held: Type.Boolean(),
          by: Type.Union([Type.Literal("operator"), Type.Literal("rate")]),
          reason: MaybeText,
        }),
      ),
    }),
    replication: Type.Union(
      [Type.Object({ state: Type.String(), reason: MaybeText, lastAt: MaybeTime, drill: Drill }), Type.Null()],
      { description: "The replication of the database; null: it is not set up." },
    ),
  }),
);
