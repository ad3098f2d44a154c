import { Type } from "@sinclair/typebox";
import { SMS_PRIORITIES } from "../../platform/db/schema/schema.ts";
import { checkName, choice, text } from "../../platform/http/request-schemas.ts";
import { CreatedKey } from "../api-keys/schema.ts";
import { UsageReport } from "../plans/schema.ts";
import { bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";

export const workspaceName = text(
  { minLength: 1, maxLength: 100, description: "The name of the workspace.", examples: ["Loja da Maria"] },
  checkName,
);

export function planName(description: string) {
  return text({ minLength: 1, maxLength: 50, description });
}

export const WorkspaceCreate = bodyObject("WorkspaceCreate", {
  name: workspaceName,
  plan: Type.Optional(planName("One of the configured plans. With the operator key only.")),
});

/** A name or number that the workspace's SMS may come from. */
export const SenderId = namedObject("SenderId", {
  name: Type.String(),
  isDefault: Type.Boolean({ description: "Whether SMS without a `from` come from it." }),
  priority: orNull(oneOf(SMS_PRIORITIES), "The priority of SMS from it; null: the workspace's."),
});

const rate = (of: string, name: string) =>
  namedObject(name, {
    count: Type.Integer({ minimum: 0, description: `Emails that ${of}.`, examples: [2] }),
    percent: Type.Number({ minimum: 0, description: "Of those that were answered.", examples: [0.94] }),
    limitPercent: Type.Number({ description: "At this percentage sending is blocked.", examples: [8] }),
    limitCount: Type.Integer({ description: "With fewer of them it is not, whatever the percentage.", examples: [20] }),
  });

/** An entry of the ledger, without the operator's note. */
const ENTRY = {
  kind: oneOf(
    ["grant", "reservation", "refund", "writeoff"],
    "`grant`: by the operator, negative where some were deducted. A write-off does not change the balance: a refunded segment reached the network after all.",
  ),
  amount: Type.Integer({ description: "The change of the balance." }),
  balance: Type.Integer({ minimum: 0, description: "The balance then." }),
  smsId: orNull(identifier(), "The SMS it is for."),
  segments: orNull(Type.Integer(), "Its segments."),
  createdAt: dateTime(),
};

/** What changed a workspace's balance of SMS credits, as the operator sees it. */
export const CreditEntry = namedObject("CreditEntry", { ...ENTRY, note: orNull(Type.String()) });

/** The same as the workspace sees it. */
export const OwnCreditEntry = namedObject("OwnCreditEntry", ENTRY);

/** A workspace as its own keys and members see it. */
export const OwnWorkspace = namedObject("OwnWorkspace", {
  id: identifier(),
  name: Type.String(),
  plan: Type.String(),
  createdAt: dateTime(),
  viewersSeeContent: Type.Boolean({
    description: "Whether members with the role viewer see what messages say.",
    examples: [false],
  }),
  operatorsSeeContent: Type.Boolean({
    description:
      "Whether operators of the server who are not members see what messages say; the audit notes each reading.",
    examples: [false],
  }),
  block: orNull(
    namedObject("SendingBlock", {
      kind: oneOf(["operator", "rates"], "Who blocked it: the operator, or its rates of bounces and complaints."),
      since: dateTime("When it began."),
      reason: orNull(Type.String(), "Why; null: the operator gave no reason."),
      isHeld: Type.Boolean({ description: "Whether accepted messages wait too." }),
    }),
    "What keeps it from sending; null: nothing.",
  ),
  senderIds: Type.Array(SenderId),
  sms: namedObject("SmsAbility", {
    isInPlan: Type.Boolean({ description: "Whether its plan includes SMS." }),
    isConnected: Type.Boolean({ description: "Whether this server is connected to a mobile network." }),
    example: Type.String({ description: "A number that could be texted, in E.164.", examples: ["+258841234567"] }),
  }),
  emailsDelayed: Type.Integer({
    minimum: 0,
    description: "Emails that were not delivered at their first attempt and are tried again.",
    examples: [0],
  }),
  rates: namedObject("SendingRates", {
    since: Type.String({ format: "date", description: "The first UTC day that counts.", examples: ["2026-11-15"] }),
    answered: Type.Integer({
      minimum: 0,
      description: "Emails that the recipients' servers answered.",
      examples: [212],
    }),
    bounces: rate("bounced hard", "BounceRate"),
    complaints: rate("were complained about", "ComplaintRate"),
  }),
});

export const OwnWorkspaceQuery = Type.Object({
  include: Type.Optional(choice(["usage"], "`usage` adds what it has used and what its plan allows.")),
});

/** The same with `?include=usage`. */
export const OwnWorkspaceWithUsage = namedObject("OwnWorkspaceWithUsage", {
  ...OwnWorkspace.properties,
  usage: Type.Optional(UsageReport),
});

export const OwnWorkspaceChange = bodyObject(
  "OwnWorkspaceChange",
  {
    name: Type.Optional(workspaceName),
    viewersSeeContent: Type.Optional(OwnWorkspace.properties.viewersSeeContent),
    operatorsSeeContent: Type.Optional(OwnWorkspace.properties.operatorsSeeContent),
  },
  { minProperties: 1 },
);

export const CreatedWorkspace = namedObject("CreatedWorkspace", {
  workspaceId: identifier(),
  workspaceName: Type.String(),
  apiKey: CreatedKey,
});
