import { Type } from "@sinclair/typebox";
import { SMS_FOLDINGS, SMS_PRIORITIES } from "../../../platform/db/schema/schema.ts";
import { choice, integer, checkLine, nullable, objectWith, text } from "../../../platform/http/request-schemas.ts";
import { KeyCreate } from "../../api-keys/schema.ts";
import { planName, workspaceName } from "../schema.ts";
import { senderKind } from "../sender-kind.ts";
import { named } from "../../../platform/http/openapi.ts";

const MAX_REASON = 500;
const MAX_NOTE = 200;
/** Credits that one request adds or takes. */
const MAX_AMOUNT = 1_000_000_000;
/** Longer than any sender id; the exact rules follow. */
const MAX_SENDER_ID = 20;

const id = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });
const closed = { additionalProperties: false };

/** A name or number that the workspace's SMS may come from. */
export const SenderId = named(
  "SenderId",
  Type.Object({
    name: Type.String(),
    isDefault: Type.Boolean(),
    priority: Type.Unsafe<(typeof SMS_PRIORITIES)[number] | null>(
      Type.Union([...SMS_PRIORITIES.map((one) => Type.Literal(one)), Type.Null()], {
        description: "The priority of SMS from it; null: the workspace's.",
      }),
    ),
  }),
);

const folding = choice(
  SMS_FOLDINGS,
  "Characters that may be replaced in an SMS to save segments: none, punctuation, or accents too.",
);
const priority = choice(SMS_PRIORITIES, "How urgent its SMS are, which also decides how long they may wait.");

/** A workspace as the operator sees it. */
export const OperatorWorkspace = named(
  "Workspace",
  Type.Object({
    id,
    name: Type.String(),
    plan: Type.String(),
    createdAt: time,
    smsCredits: Type.Integer(),
    smsFolding: folding,
    smsPriority: priority,
    senderIds: Type.Array(SenderId),
    blocks: Type.Array(
      Type.Object({
        by: Type.Union([Type.Literal("operator"), Type.Literal("rate")]),
        reason: Type.Union([Type.String(), Type.Null()]),
        since: time,
        holdsQueue: Type.Boolean({ description: "Accepted messages wait until the block is lifted." }),
      }),
    ),
    usage: Type.Object({
      emailsToday: Type.Integer(),
      emailsThisMonth: Type.Integer(),
      smsThisMonth: Type.Integer(),
      domains: Type.Integer(),
      apiKeys: Type.Integer(),
      storageBytes: Type.Integer({ description: "The stored contents of its emails." }),
    }),
    waiting: Type.Integer({ description: "Accepted emails without a final status." }),
  }),
);

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

export const WorkspaceBlock = named(
  "WorkspaceBlock",
  Type.Object(
    {
      reason: Type.Optional(
        text(
          { minLength: 1, maxLength: MAX_REASON, description: "Shown to the workspace when it tries to send." },
          checkLine,
        ),
      ),
      hold: Type.Optional(
        Type.Boolean({ description: "Whether accepted messages wait too, until the block is lifted; default false." }),
      ),
    },
    closed,
  ),
);

export const OperatorKeyCreate = named("WorkspaceKeyCreate", Type.Object({ name: KeyCreate.properties.name }, closed));

export const RotatedKey = named(
  "RotatedOperatorKey",
  Type.Object({ operatorKey: Type.String({ examples: ["svc_…"] }) }),
);

const note = Type.Union([Type.String(), Type.Null()]);

export const CreditsGrant = named(
  "CreditsGrant",
  Type.Object(
    {
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
    },
    closed,
  ),
);

export const GrantedCredits = named(
  "GrantedCredits",
  Type.Object({
    workspaceId: id,
    amount: Type.Integer(),
    balance: Type.Integer(),
    note,
    createdAt: time,
  }),
);

export const CreditEntry = named(
  "CreditEntry",
  Type.Object({
    kind: Type.Union(
      ["grant", "reservation", "refund", "writeoff"].map((kind) => Type.Literal(kind)),
      {
        description: "A write-off does not change the balance: a refunded segment reached the network after all.",
      },
    ),
    amount: Type.Integer({ description: "The change of the balance." }),
    smsId: Type.Union([id, Type.Null()], { description: "The SMS it is for." }),
    segments: Type.Union([Type.Integer(), Type.Null()], { description: "Its segments." }),
    note,
    createdAt: time,
  }),
);

export const SenderIdCreate = named(
  "SenderIdCreate",
  Type.Object(
    {
      name: text(
        {
          minLength: 1,
          maxLength: MAX_SENDER_ID,
          description:
            "1 to 11 letters, digits, spaces and -._& with a letter among them, or a number of 3 to 15 digits.",
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
    },
    closed,
  ),
);

export const DeletedSenderId = named("DeletedSenderId", Type.Object({ name: Type.String(), deleted: Type.Boolean() }));
