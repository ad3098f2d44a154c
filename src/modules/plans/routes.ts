import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Clock } from "../../platform/clock.ts";
import type { NamedPlan } from "../../config/config.ts";
import { wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { periodsAt } from "./quota.ts";
import { UsageReport } from "./schema.ts";
import type { UsageStore } from "./store.ts";

/** How much of its plan a workspace uses. */
export type BuildUsage = (workspaceId: number) => typeof UsageReport.static;

interface Counting {
  countForWorkspace(workspaceId: number): number;
}

export interface UsageDeps {
  usage: UsageStore;
  domains: Counting;
  keys: Counting;
  webhooks: Counting;
  members: Counting;
  workspaces: { byId(id: number): { smsCredits: number } | undefined };
  findNamedPlan: (workspaceId: number) => NamedPlan;
  clock: Pick<Clock, "now">;
}

/** `buildUsage`: the usage of a workspace. */
export function usageRoutes(buildUsage: BuildUsage) {
  return new Elysia({ name: "usage", prefix: "/api/v1/workspace/usage" }).get(
    "",
    ({ request }) => ({ data: buildUsage(wholeWorkspaceCaller(request).workspaceId) }),
    {
      query: Type.Object({}),
      detail: describe({
        id: "getUsage",
        tag: "Workspace",
        summary: "Get the workspace's usage and its plan's limits",
        description: "Days and months are in UTC. An email to one recipient counts once, when it is accepted.",
        responses: answers(200, UsageReport, [401, 403, 422]),
      }),
    },
  );
}

/** Read in one turn, between two transactions: the numbers are of one moment. */
export function buildUsageReport(workspaceId: number, deps: UsageDeps): typeof UsageReport.static {
  const { usage, domains, keys, workspaces } = deps;
  const { name, plan } = deps.findNamedPlan(workspaceId);
  const { day, month } = periodsAt(deps.clock.now());
  const { emailsPerMonth, emailsPerDay, apiKeys, webhooks, members, storage: storageBytes } = plan;
  return {
    plan: name.toLowerCase(),
    limits: { emailsPerMonth, emailsPerDay, domains: plan.domains, apiKeys, webhooks, members, storageBytes },
    usage: {
      emailsThisMonth: usage.ofMonth(workspaceId, "emails", month),
      emailsToday: usage.ofDay(workspaceId, "emails", day),
      smsThisMonth: usage.ofMonth(workspaceId, "sms", month),
      smsCreditsBalance: workspaces.byId(workspaceId)?.smsCredits ?? 0,
      domains: domains.countForWorkspace(workspaceId),
      apiKeys: keys.countForWorkspace(workspaceId),
      webhooks: deps.webhooks.countForWorkspace(workspaceId),
      members: deps.members.countForWorkspace(workspaceId),
      storageBytes: usage.storedBytes(workspaceId),
    },
  };
}
