// Workspaces: created over the API, changed and deleted by the operator, and removed in the background.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import type { ListPages } from "../../platform/http/pagination.ts";
import type { QueueStore } from "../emails/queue/store.ts";
import { type BlockDeps, blockRoutes } from "./operator/block-routes.ts";
import { type CreditDeps, creditRoutes } from "./operator/credit-routes.ts";
import { type DeleteRouteDeps, deleteRoutes } from "./operator/delete-routes.ts";
import { type OperatorKeyDeps, operatorKeyRoutes } from "./operator/key-routes.ts";
import { operatorWorkspaceRoutes } from "./operator/routes.ts";
import { senderIdRoutes } from "./operator/sender-id-routes.ts";
import { createWorkspacePurge, type WorkspacePurgeDeps } from "./purge.ts";
import { workspaceRoutes } from "./routes.ts";

interface WorkspaceStores
  extends
    Pick<WorkspacePurgeDeps, "purges" | "workspaces" | "keys" | "domains">,
    Pick<BlockDeps, "senderIds" | "usage" | "emails">,
    Pick<CreditDeps, "credits">,
    Pick<DeleteRouteDeps, "webhooks">,
    Pick<OperatorKeyDeps, "settings"> {
  queue: Pick<QueueStore, "forgetLanes">;
}

interface WorkspaceModuleDeps extends Pick<BlockDeps, "forgetRates" | "holdChanged"> {
  pages: ListPages;
  /** These lanes are gone. */
  forgetLanes: (laneIds: number[]) => void;
  /** A workspace is gone, and these domains of it. */
  deleted: (domainIds: number[]) => void;
}

interface Workspaces extends Required<Pick<Component, "start" | "stop">> {
  routes(): AnyElysia;
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
  const deleted: DeleteRouteDeps["deleted"] = ({ domainIds }) => {
    runDeleted(domainIds);
    purge.trigger();
  };
  return {
    routes: () => workspaceRoutes(deps),
    operatorRoutes: () => [
      operatorWorkspaceRoutes(deps),
      deleteRoutes({ ...deps, deleted }),
      blockRoutes(deps),
      creditRoutes(deps),
      senderIdRoutes(deps),
      operatorKeyRoutes(deps),
    ],
    start: () => purge.start(),
    stop: () => purge.stop(),
  };
}
