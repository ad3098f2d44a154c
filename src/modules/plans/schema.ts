import { Type } from "@sinclair/typebox";
import { namedObject } from "../../platform/http/openapi.ts";

const limit = (of: string, example: number) =>
  Type.Integer({ minimum: -1, description: `${of} that the plan allows; -1: unlimited.`, examples: [example] });
const count = (description: string, ...examples: number[]) => Type.Integer({ minimum: 0, description, examples });

/** What a workspace has used, and what its plan allows. */
export const UsageReport = namedObject("Usage", {
  plan: Type.String({ description: "The plan's name.", examples: ["launch"] }),
  limits: namedObject("PlanLimits", {
    emailsPerMonth: limit("Emails a UTC calendar month", 3000),
    emailsPerDay: limit("Emails a UTC day", 100),
    domains: limit("Domains", 1),
    apiKeys: limit("API keys", -1),
    webhooks: limit("Webhooks", 1),
    members: limit("Members", 1),
    storageBytes: limit("Bytes of emails' contents that are kept, as stored,", 1_073_741_824),
  }),
  usage: namedObject("UsageCounts", {
    emailsThisMonth: count("Accepted in this UTC calendar month.", 212),
    emailsToday: count("Accepted on this UTC day.", 14),
    smsThisMonth: count("SMS accepted in this UTC calendar month.", 0),
    smsCreditsBalance: count("SMS credits that are left.", 0),
    domains: count("Domains that are registered.", 1),
    apiKeys: count("API keys that are valid.", 2),
    webhooks: count("Webhooks, those turned off included.", 1),
    members: count("People who are members.", 1),
    storageBytes: count("Contents of emails that are kept, as stored (compressed).", 524_288),
  }),
});
