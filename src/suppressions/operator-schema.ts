import { Type } from "@sinclair/typebox";
import { SUPPRESSION_CHANNELS } from "../db/schema.ts";
import { CursorQuery } from "../http/pagination.ts";
import { choice, type Fault, objectWith, text, uuid } from "../http/rules.ts";
import { time } from "../http/times.ts";
import { misfits, Suppression, SuppressionMembers } from "./schema.ts";

const MAX_ITEMS = 500;
/** Longer than any site's name. */
const MAX_SITE = 300;
/** The clock of the machine that a list comes from may be ahead of ours. */
const MAX_AHEAD_MS = 86_400_000;

/** The body of an import; `now` is asked at each check. */
export function suppressionImport(now: () => number) {
  const suppressedAt = time("By default now.", (at) =>
    at > now() + MAX_AHEAD_MS ? "must not be in the future" : null,
  );
  const members = Type.Object(
    {
      ...SuppressionMembers,
      channel: Type.Optional(choice(SUPPRESSION_CHANNELS, "By default `email`.")),
      suppressedAt: Type.Optional(suppressedAt),
    },
    { additionalProperties: false },
  );
  const item = objectWith(members, (value) => misfits(value, "email"));
  return Type.Object(
    { suppressions: Type.Array(item, { minItems: 1, maxItems: MAX_ITEMS }) },
    { additionalProperties: false },
  );
}

export const Imported = Type.Object({ imported: Type.Integer(), alreadyThere: Type.Integer() });

const site = text({ minLength: 1, maxLength: MAX_SITE, description: "Who refused.", examples: ["mx.example.com"] });

export const HeldQuery = Type.Object({
  ...CursorQuery.properties,
  workspaceId: Type.Optional(uuid("Of this workspace alone.")),
  site: Type.Optional(site),
});

export const HeldSuppression = Type.Object({
  workspaceId: Type.String({ format: "uuid" }),
  address: Suppression.properties.address,
  channel: Suppression.properties.channel,
  reason: Suppression.properties.reason,
  site: Type.String({ description: "Who refused: a set of mail servers, `dns`, or `sms:` and a route." }),
  heldAt: Type.String({ format: "date-time" }),
  hint: Type.Optional(Type.String({ description: "Of what waits for long." })),
});

/** What goes with a narrower choice. */
const NOT_ALL = { all: { enum: [false] } };

/** Which held suppressions are meant: it must be said. */
export const HeldChoice = objectWith(
  Type.Object(
    {
      workspaceId: Type.Optional(uuid("Those of this workspace.")),
      site: Type.Optional(site),
      all: Type.Optional(Type.Boolean({ description: "`true`: every one." })),
    },
    { additionalProperties: false },
  ),
  ({ workspaceId, site: who, all }): Fault | null => {
    const isNarrowed = workspaceId !== undefined || who !== undefined;
    if (isNarrowed && all === true)
      return {
        path: ["all"],
        message: "says every one, and workspaceId or site says which: give the one or the other",
      };
    if (isNarrowed || (all ?? false)) return null;
    return {
      path: ["all"],
      message: "or workspaceId or site is required: say which of the held suppressions are meant",
      hint: '"all": true means every one.',
    };
  },
  {
    anyOf: [
      { required: ["workspaceId"], properties: NOT_ALL },
      { required: ["site"], properties: NOT_ALL },
      {
        required: ["all"],
        properties: { all: { enum: [true] } },
        not: { anyOf: [{ required: ["workspaceId"] }, { required: ["site"] }] },
      },
    ],
  },
);

export const Applied = Type.Object({ applied: Type.Integer() });
export const Dropped = Type.Object({ dropped: Type.Integer() });
