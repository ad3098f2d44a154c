import { Type } from "@sinclair/typebox";
import { SUPPRESSION_CHANNELS, SUPPRESSION_REASONS } from "../../platform/db/schema/schema.ts";
import { CursorQuery } from "../../platform/http/pagination.ts";
import {
  choice,
  createChecker,
  type FieldError,
  findFieldErrors,
  objectWith,
  ruled,
  text,
} from "../../platform/http/request-schemas.ts";
import { type Channel, readAddress, REASONS_OF, REASONS_OF_LIST } from "./address.ts";
import { named, namedObject } from "../../platform/http/openapi.ts";
import { dateTime, oneOf, orNull } from "../../platform/http/answer-schemas.ts";

const MAX_ADDRESS = 255;

const LIST_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The name of a list that people unsubscribe from. */
export const listName = (description: string) =>
  text({ minLength: 1, maxLength: 64, pattern: LIST_NAME.source, description, examples: ["newsletter"] }, (value) =>
    LIST_NAME.test(value) ? null : "must consist of letters of a to z, digits, and _ . -",
  );

/** Null as answers show it, so that an export can be imported: all messages. */
function listOrNull(description: string) {
  const name = listName(description);
  const checker = createChecker(name);
  return ruled<string | null>(
    { ...name, type: ["string", "null"] },
    {
      isValid: (value) => value === null || checker.Check(value),
      findErrors: (value) => findFieldErrors(checker, value),
    },
  );
}

const channel = choice(SUPPRESSION_CHANNELS, "`email` or `sms`.");

/** An entry of the list. */
export const Suppression = namedObject("Suppression", {
  address: Type.String({
    description:
      "In the compared form: lower case, the domain as A-label; a phone number in E.164. Of an erased recipient " +
      "`erased@erased.invalid` or `+99900000000`: it still blocks, and is lifted by its own address.",
    examples: ["maria@example.com"],
  }),
  reason: oneOf(
    SUPPRESSION_REASONS,
    "The reason: the result of an email or SMS to it, its opt-out, that it unsubscribed, or `manual`.",
  ),
  channel: oneOf(SUPPRESSION_CHANNELS, "The channel that is suppressed."),
  list: orNull(Type.String(), "Only mail of this list is suppressed; null: all messages.", "newsletter"),
  suppressedAt: dateTime("When it was suppressed."),
});

export const DeletedSuppression = namedObject("DeletedSuppression", {
  address: Type.String({ description: "In the form compared.", examples: ["maria@example.com"] }),
  deleted: Type.Boolean({ description: "Always true.", examples: [true] }),
});

export const LiftQuery = Type.Object({
  channel: Type.Optional(channel),
  list: Type.Optional(listName("Lift the one for this list; without it, the one for all messages.")),
});
const addressText = (description: string) =>
  text({ minLength: 1, maxLength: MAX_ADDRESS, description, examples: ["maria@example.com"] }, (value) => {
    const read = readAddress(value);
    return read.kind === "fault" ? read.message : null;
  });

/** Without a cursor, as an export takes it. */
export const FilterQuery = Type.Object({
  channel: Type.Optional(channel),
  reason: Type.Optional(choice(SUPPRESSION_REASONS, "Only those with this reason.")),
  address: Type.Optional(
    addressText("Only this address, in any spelling that is compared as the same; also when it was erased."),
  ),
  q: Type.Optional(
    text({
      minLength: 1,
      maxLength: MAX_ADDRESS,
      description: "Only addresses that begin so. If more than 2,000 do, the answer is 422.",
      examples: ["maria"],
    }),
  ),
});
export const SuppressionQuery = Type.Object({ ...CursorQuery.properties, ...FilterQuery.properties });

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
  address: addressText("An email address, or a phone number in E.164."),
  reason: Type.Optional(
    choice(
      SUPPRESSION_REASONS,
      "By default `manual`. Of email `hard_bounce`, `complaint`, `manual` or `unsubscribe`; of SMS `opt_out`, `invalid_number` or `manual`. With `list` `unsubscribe` or `manual`.",
    ),
  ),
  list: Type.Optional(listOrNull("Suppress only mail of this list; without it or null, all messages.")),
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
export function misfits(
  value: { address?: unknown; channel?: unknown; reason?: unknown; list?: unknown },
  absent: Channel | null,
) {
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
  const isOfList = typeof value.list === "string";
  if (reason !== undefined && !REASONS_OF[given].includes(reason))
    faults.push({ path: ["reason"], message: `must be ${REASONS_OF[given].join(" or ")} on the channel ${given}` });
  else if (isOfList && reason !== undefined && !REASONS_OF_LIST.includes(reason))
    faults.push({ path: ["reason"], message: `must be ${REASONS_OF_LIST.join(" or ")} with a list` });
  if (isOfList && given === "sms")
    faults.push({ path: ["list"], message: "is only for email", hint: "An SMS belongs to no list." });
  return faults;
}

function isGiven(given: unknown): (word: string) => boolean {
  return (word) => word === given;
}
