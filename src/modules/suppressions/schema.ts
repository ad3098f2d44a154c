import { Type } from "@sinclair/typebox";
import { SUPPRESSION_CHANNELS, SUPPRESSION_REASONS } from "../../platform/db/schema/schema.ts";
import { CursorQuery } from "../../platform/http/pagination.ts";
import { choice, type FieldError, objectWith, ruled, text } from "../../platform/http/request-schemas.ts";
import { type Channel, readAddress, REASONS_OF } from "./address.ts";
import { named, namedObject } from "../../platform/http/openapi.ts";
import { dateTime, oneOf } from "../../platform/http/answer-schemas.ts";

const MAX_ADDRESS = 255;

const channel = choice(SUPPRESSION_CHANNELS, "`email` or `sms`.");

/** An entry of the list. */
export const Suppression = namedObject("Suppression", {
  address: Type.String({
    description:
      "In the compared form: lower case, the domain as A-label; a phone number in E.164. Of an erased recipient " +
      "`erased@erased.invalid` or `+99900000000`: it still blocks, and is lifted by its own address.",
    examples: ["maria@example.com"],
  }),
  reason: oneOf(SUPPRESSION_REASONS, "The reason: the result of an email or SMS to it, its opt-out, or `manual`."),
  channel: oneOf(SUPPRESSION_CHANNELS, "The channel that is suppressed."),
  suppressedAt: dateTime("When it was suppressed."),
});

export const DeletedSuppression = namedObject("DeletedSuppression", {
  address: Type.String({ description: "In the form compared.", examples: ["maria@example.com"] }),
  deleted: Type.Boolean({ description: "Always true.", examples: [true] }),
});

export const ChannelQuery = Type.Object({ channel: Type.Optional(channel) });
export const SuppressionQuery = Type.Object({ ...CursorQuery.properties, ...ChannelQuery.properties });

/** The router hands on what it could decode, and null where it could not. */
export const AddressInPath = Type.Object({
  address: ruled<string>(
    {
      type: "string",
      description: "The address, URL-encoded: `maria%40example.com`, `%2B258841234567`.",
    },
    {
      isValid: (value) => typeof value === "string",
      findErrors: () => [
        {
          path: [],
          message: "is not URL-encoded UTF-8: a % is not followed by two hexadecimal digits, or they are not UTF-8",
          hint: "Encode it as encodeURIComponent does, a % itself as %25.",
        },
      ],
    },
  ),
});

export const SuppressionMembers = {
  address: text(
    {
      minLength: 1,
      maxLength: MAX_ADDRESS,
      description: "An email address, or a phone number in E.164.",
      examples: ["maria@example.com"],
    },
    (value) => {
      const read = readAddress(value);
      return read.kind === "fault" ? read.message : null;
    },
  ),
  reason: Type.Optional(
    choice(
      SUPPRESSION_REASONS,
      "By default `manual`. Of email `hard_bounce`, `complaint` or `manual`; of SMS `opt_out`, `invalid_number` or `manual`.",
    ),
  ),
};

const Members = Type.Object(
  {
    ...SuppressionMembers,
    channel: Type.Optional(choice(SUPPRESSION_CHANNELS, "By default `email` for an address and `sms` for a number.")),
  },
  { additionalProperties: false },
);

export const SuppressionCreate = named(
  "SuppressionCreate",
  objectWith(Members, (value) => misfits(value, null)),
);

/**
 * Members of a request that contradict each other; members that are invalid by themselves are left out. `absent` is the
 * channel when none is given; null: as the address says.
 */
export function misfits(value: { address?: unknown; channel?: unknown; reason?: unknown }, absent: Channel | null) {
  const read = typeof value.address === "string" ? readAddress(value.address) : null;
  const itsChannel = read?.kind === "address" ? read.channel : null;
  const given =
    value.channel === undefined ? (absent ?? itsChannel) : SUPPRESSION_CHANNELS.find(isGiven(value.channel));
  if (given === undefined || given === null) return [];
  const faults: FieldError[] = [];
  if (itsChannel !== null && itsChannel !== given) {
    faults.push({
      path: ["address"],
      message:
        itsChannel === "sms"
          ? "is a phone number, and the channel is email"
          : "is an email address, and the channel is sms",
      hint: `Give it with the channel ${itsChannel}.`,
    });
  }
  const reason = SUPPRESSION_REASONS.find(isGiven(value.reason));
  if (reason !== undefined && !REASONS_OF[given].includes(reason))
    faults.push({ path: ["reason"], message: `must be ${REASONS_OF[given].join(" or ")} on the channel ${given}` });
  return faults;
}

function isGiven(given: unknown): (word: string) => boolean {
  return (word) => word === given;
}
