import { type Static, Type } from "@sinclair/typebox";
import { SUPPRESSION_CHANNELS } from "../../platform/db/schema/schema.ts";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { choice, type FieldError, objectWith, text, uuid } from "../../platform/http/request-schemas.ts";
import { time } from "../../platform/http/times.ts";
import { misfits, Suppression, SuppressionMembers } from "./schema.ts";
import { named, bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier } from "../../platform/http/answer-schemas.ts";

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
  return bodyObject("SuppressionsImport", { suppressions: Type.Array(item, { minItems: 1, maxItems: MAX_ITEMS }) });
}

export type SuppressionsImport = Static<ReturnType<typeof suppressionImport>>;

export const Imported = namedObject("ImportedSuppressions", {
  imported: Type.Integer({ description: "How many are new.", examples: [2] }),
  alreadyThere: Type.Integer(),
});

const site = text({
  minLength: 1,
  maxLength: MAX_SITE,
  description: "The refusing site.",
  examples: ["mx.example.com"],
});

export const HeldQuery = Type.Object({
  ...CursorQuery.properties,
  workspaceId: Type.Optional(uuid("Only those of this workspace.")),
  site: Type.Optional(site),
});

export const HeldSuppression = namedObject("HeldSuppression", {
  workspaceId: identifier(),
  address: Suppression.properties.address,
  channel: Suppression.properties.channel,
  reason: Suppression.properties.reason,
  site: Type.String({ description: "The refusing site: a set of mail servers, `dns`, or `sms:` and a route." }),
  heldAt: dateTime("When it was held."),
  hint: Type.Optional(Type.String({ description: "Set if it has waited for long." })),
});

/** Selects held suppressions; something must be selected. */
export const HeldChoice = named(
  "HeldSuppressionsChoice",
  objectWith(
    Type.Object(
      {
        workspaceId: Type.Optional(uuid("Those of this workspace.")),
        site: Type.Optional(site),
        all: Type.Optional(Type.Boolean({ description: "`true`: every one." })),
      },
      { additionalProperties: false },
    ),
    ({ workspaceId, site: who, all }): FieldError | null => {
      const isNarrowed = workspaceId !== undefined || who !== undefined;
      if (isNarrowed && all === true)
        return {
          path: ["all"],
          message: "cannot be combined with workspaceId or site",
        };
      if (isNarrowed || (all ?? false)) return null;
      return {
        path: ["all"],
        message: "or workspaceId or site is required: choose which held suppressions to change",
        hint: '"all": true means every one.',
      };
    },
    { description: "`workspaceId`, `site` or both; or only `all`.", examples: [{ site: "mx.example.com" }] },
  ),
);

export const Applied = namedObject("AppliedSuppressions", { applied: Type.Integer() });
export const Dropped = namedObject("DroppedSuppressions", { dropped: Type.Integer() });
