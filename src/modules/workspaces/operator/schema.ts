import { Type } from "@sinclair/typebox";
import { SMS_FOLDINGS, SMS_PRIORITIES } from "../../../platform/db/schema/schema.ts";
import { choice, integer, checkLine, nullable, objectWith, text } from "../../../platform/http/request-schemas.ts";
import { KeyCreate } from "../../api-keys/schema.ts";
import { planName, SenderId, workspaceName } from "../schema.ts";
import { senderKind } from "../sender-kind.ts";
import { named, namedObject, bodyObject } from "../../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../../platform/http/answer-schemas.ts";

const MAX_REASON = 500;
const MAX_NOTE = 200;
/** Credits that one request adds or takes. */
const MAX_AMOUNT = 1_000_000_000;
/** Longer than any sender id; the exact rules follow. */
const MAX_SENDER_ID = 20;

const id = identifier();
const time = dateTime();
const closed = { additionalProperties: false };

const folding = choice(
  SMS_FOLDINGS,
  "Characters that may be replaced in an SMS to save segments: none, punctuation, or accents too.",
);
const priority = choice(SMS_PRIORITIES, "How urgent its SMS are, which also decides how long they may wait.");

/** A workspace as the operator sees it. */
export const OperatorWorkspace = namedObject("Workspace", {
  id,
  name: Type.String(),
  plan: Type.String(),
  createdAt: time,
  smsCredits: Type.Integer({ description: "SMS credits that are left.", examples: [500] }),
  smsFolding: folding,
  smsPriority: priority,
  senderIds: Type.Array(SenderId),
  blocks: Type.Array(
    Type.Object({
      by: oneOf(["operator", "rate"]),
      reason: orNull(Type.String()),
      since: time,
      holdsQueue: Type.Boolean({ description: "Accepted messages wait until the block is lifted." }),
    }),
  ),
  usage: Type.Object({
    emailsToday: Type.Integer({ description: "Emails accepted on this UTC day." }),
    emailsThisMonth: Type.Integer({ description: "Emails accepted in this UTC calendar month." }),
    smsThisMonth: Type.Integer(),
    domains: Type.Integer(),
    apiKeys: Type.Integer(),
    storageBytes: Type.Integer({ description: "The stored contents of its emails." }),
  }),
  waiting: Type.Integer({ description: "Accepted emails without a final status." }),
});

export const WorkspaceChange = named(
  "WorkspaceChange",
  objectWith(
    Type.Object(
      {
        name: Type.Optional(workspaceName),
        plan: Type.Optional(planName("One of the configured plans.")),
        smsFolding: Type.Optional(folding),
        smsPriority: Type.Optional(priority),
      },
      closed,
    ),
    ({ name, plan, smsFolding, smsPriority }) =>
      [name, plan, smsFolding, smsPriority].every((member) => member === undefined)
        ? { path: [], message: "must hold name, plan, smsFolding or smsPriority" }
        : null,
    { minProperties: 1 },
  ),
);

export const WorkspaceBlock = bodyObject("WorkspaceBlock", {
  reason: Type.Optional(
    text(
      { minLength: 1, maxLength: MAX_REASON, description: "Shown to the workspace when it tries to send." },
      checkLine,
    ),
  ),
  hold: Type.Optional(
    Type.Boolean({ description: "Whether accepted messages wait too, until the block is lifted; default false." }),
  ),
});

export const OperatorKeyCreate = bodyObject("WorkspaceKeyCreate", { name: KeyCreate.properties.name });

export const RotatedKey = namedObject("RotatedOperatorKey", {
  operatorKey: Type.String({ description: "The new key. Save it: it is not shown again.", examples: ["svc_…"] }),
});

const note = orNull(Type.String());

export const CreditsGrant = bodyObject("CreditsGrant", {
  amount: integer(
    {
      minimum: -MAX_AMOUNT,
      maximum: MAX_AMOUNT,
      description: "SMS credits to grant; a negative number deducts.",
      examples: [500],
    },
    (value) => (value === 0 ? "must not be 0" : null),
  ),
  note: Type.Optional(text({ minLength: 1, maxLength: MAX_NOTE, description: "The reason." }, checkLine)),
});

export const GrantedCredits = namedObject("GrantedCredits", {
  workspaceId: id,
  amount: Type.Integer(),
  balance: Type.Integer({ description: "Credits that are left now.", examples: [500] }),
  note,
  createdAt: time,
});

export const SenderIdCreate = bodyObject("SenderIdCreate", {
  name: text(
    {
      minLength: 1,
      maxLength: MAX_SENDER_ID,
      description: "1 to 11 letters, digits, spaces and -._& with a letter among them, or a number of 3 to 15 digits.",
      examples: ["Loja Maria", "+258841234567"],
    },
    (value) =>
      senderKind(value) !== null
        ? null
        : "must be 1 to 11 of A-Z, a-z, 0-9, space and -._& with a letter among them and no space at its ends, or a phone number of 3 to 15 digits",
  ),
  isDefault: Type.Optional(
    Type.Boolean({ description: "It is used for SMS without a `from`. The first one always is the default." }),
  ),
  priority: Type.Optional(nullable(priority)),
});

export const DeletedSenderId = namedObject("DeletedSenderId", { name: Type.String(), deleted: Type.Boolean() });
