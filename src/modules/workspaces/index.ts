// Workspaces: created over the API, changed and deleted by the operator, and removed in the background.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import type { ListPages } from "../../platform/http/pagination.ts";
import type { QueueStore } from "../emails/queue/store.ts";
import type { OperatorWorkspaceDeps } from "./operator/deps.ts";
import { operatorWorkspaceRoutes } from "./operator/routes.ts";
import { ownCreditRoutes } from "./own-credit-routes.ts";
import { type OwnWorkspaceDeps, ownWorkspaceRoutes } from "./own-routes.ts";
import { createWorkspacePurge, type WorkspacePurgeDeps } from "./purge.ts";
import { type WorkspaceDeps, workspaceRoutes } from "./routes.ts";

interface WorkspaceStores
  extends
    Pick<WorkspacePurgeDeps, "purges" | "domains">,
    Pick<OperatorWorkspaceDeps, "workspaces" | "keys" | "credits" | "senderIds" | "usage" | "emails" | "settings"> {
  webhooks: OperatorWorkspaceDeps["webhooks"];
  members: WorkspaceDeps["members"];
  queue: Pick<QueueStore, "forgetLanes">;
}

interface WorkspaceModuleDeps
  extends
    Pick<OperatorWorkspaceDeps, "forgetRates" | "holdChanged" | "recordAudit">,
    Pick<OwnWorkspaceDeps, "findNamedPlan" | "buildUsage" | "smsNetwork"> {
  pages: ListPages;
  /** These lanes are gone. */
  forgetLanes: (laneIds: number[]) => void;
  /** A workspace is gone, and these domains of it. */
  deleted: (domainIds: number[]) => void;
}

interface Workspaces extends Required<Pick<Component, "start" | "stop">> {
  routes(): AnyElysia;
  /** For the workspace itself. */
  ownRoutes(): AnyElysia[];
  operatorRoutes(): AnyElysia[];
}

/** Nothing begins to act before start(). */
export function createWorkspaces(
  context: Context,
  stores: WorkspaceStores,
  config: Config,
  { forgetLanes, deleted: runDeleted, ...module }: WorkspaceModuleDeps,
): Workspaces {
  const deps = { ...context, ...stores, ...module, ...config.workspaces, planNames: Object.keys(config.plans) };
  const purge = createWorkspacePurge({
    ...deps,
    forgetLanes(workspaceId, laneIds) {
      stores.queue.forgetLanes(workspaceId);
      forgetLanes(laneIds);
    },
  });
  const deleted = (domainIds: number[]) => {
    runDeleted(domainIds);
    purge.trigger();
  };
  return {
    routes: () => workspaceRoutes(deps),
    ownRoutes: () => [ownWorkspaceRoutes(deps), ownCreditRoutes(deps)],
    operatorRoutes: () => operatorWorkspaceRoutes({ ...deps, deleted }),
    start: () => purge.start(),
    stop: () => purge.stop(),
  };
}
