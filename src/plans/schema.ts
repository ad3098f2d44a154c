import { Type } from "@sinclair/typebox";

const Limit = Type.Integer({ minimum: -1, description: "-1: unlimited." });
const Count = Type.Integer({ minimum: 0 });

/** What a workspace has used, and what its plan allows. */
export const UsageReport = Type.Object({
  plan: Type.String({ description: "The plan's name.", examples: ["launch"] }),
  limits: Type.Object({
    emailsPerMonth: Limit,
    emailsPerDay: Limit,
    domains: Limit,
    apiKeys: Limit,
    webhooks: Limit,
    members: Limit,
    storageBytes: Limit,
  }),
  usage: Type.Object({
    emailsThisMonth: Type.Integer({ minimum: 0, description: "Accepted in this UTC calendar month." }),
    emailsToday: Type.Integer({ minimum: 0, description: "Accepted on this UTC day." }),
    smsThisMonth: Count,
    smsCreditsBalance: Count,
    domains: Count,
    apiKeys: Count,
    webhooks: Count,
    members: Count,
    storageBytes: Type.Integer({
      minimum: 0,
      description: "Contents of emails that are kept, as stored (compressed).",
    }),
  }),
});
