import { Type } from "@sinclair/typebox";

const time = Type.String({ format: "date-time" });

/** A name or number that the workspace's SMS may come from. */
export const SenderId = Type.Object({ name: Type.String(), isDefault: Type.Boolean() });

/** A workspace as the operator sees it. */
export const OperatorWorkspace = Type.Object({
  id: Type.String({ format: "uuid" }),
  name: Type.String(),
  plan: Type.String(),
  createdAt: time,
  smsCredits: Type.Integer(),
  senderIds: Type.Array(SenderId),
  blocks: Type.Array(
    Type.Object({
      by: Type.Union([Type.Literal("operator"), Type.Literal("rate")]),
      reason: Type.Union([Type.String(), Type.Null()]),
      since: time,
      holdsQueue: Type.Boolean({ description: "What was accepted waits until the block is lifted." }),
    }),
  ),
  usage: Type.Object({
    emailsToday: Type.Integer(),
    emailsThisMonth: Type.Integer(),
    smsThisMonth: Type.Integer(),
    domains: Type.Integer(),
    apiKeys: Type.Integer(),
  }),
  waiting: Type.Integer({ description: "Emails that were accepted and have come to no end yet." }),
});
