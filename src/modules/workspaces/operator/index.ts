import type { AnyElysia } from "elysia";
import { creditRoutes } from "./credit-routes.ts";
import type { OperatorWorkspaceDeps } from "./deps.ts";
import { operatorKeyRoutes } from "./key-routes.ts";
import { blockRoutes, deleteRoutes, workspaceRoutes } from "./routes.ts";
import { senderIdRoutes } from "./sender-id-routes.ts";

// The operator's routes about workspaces.

export type { OperatorWorkspaceDeps } from "./deps.ts";

export function operatorWorkspaceRoutes(deps: OperatorWorkspaceDeps): AnyElysia[] {
  return [
    workspaceRoutes(deps),
    deleteRoutes(deps),
    blockRoutes(deps),
    creditRoutes(deps),
    senderIdRoutes(deps),
    operatorKeyRoutes(deps),
  ];
}
