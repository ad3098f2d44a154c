// Plans: what each workspace may use, and how much it has used.

import type { Config, NamedPlan, Plan } from "../../config/config.ts";
import type { Context } from "../../platform/context.ts";
import { type BuildUsage, buildUsageReport, type UsageDeps, usageRoutes } from "./routes.ts";
import { workspaceGone } from "./sending-refusal.ts";

interface PlanStores extends Pick<UsageDeps, "usage" | "domains" | "keys" | "webhooks" | "members"> {
  workspaces: { byId(id: number): { plan: string; smsCredits: number } | undefined };
}

export function createPlans(context: Pick<Context, "clock">, stores: PlanStores, { plans, workspaces }: Config) {
  const { defaultPlan } = workspaces;
  const findNamedPlan = (workspaceId: number): NamedPlan => {
    const workspace = stores.workspaces.byId(workspaceId);
    if (workspace === undefined) throw workspaceGone();
    const plan = plans[workspace.plan];
    if (plan !== undefined) return { name: workspace.plan, plan };
    // A plan that was taken out of the configuration: the default one until the operator sets another.
    const fallback = plans[defaultPlan];
    if (fallback === undefined) throw new Error("there is no default plan");
    return { name: defaultPlan, plan: fallback };
  };
  const buildUsage: BuildUsage = (workspaceId) =>
    buildUsageReport(workspaceId, { ...context, ...stores, findNamedPlan });
  return {
    findNamedPlan,
    buildUsage,
    /** The plan of a workspace; throws 401 when that was deleted. */
    findPlan: (workspaceId: number): Plan => findNamedPlan(workspaceId).plan,
    routes: () => usageRoutes(buildUsage),
  };
}
