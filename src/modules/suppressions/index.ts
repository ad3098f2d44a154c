// Suppressions: addresses and numbers that a workspace sends nothing to, and those that wait for the operator.

import { Elysia } from "elysia";
import type { Context } from "../../platform/context.ts";
import type { ListPages } from "../../platform/http/pagination.ts";
import { type OperatorSuppressionDeps, operatorSuppressionRoutes } from "./operator-routes.ts";
import { type SuppressionDeps, suppressionFileRoutes, suppressionRoutes } from "./routes.ts";

export function createSuppressions(
  context: Context,
  stores: Pick<SuppressionDeps & OperatorSuppressionDeps, "suppressions" | "held" | "workspaces">,
  module: { pages: ListPages },
) {
  const deps = { ...context, ...stores, ...module };
  return {
    routes: (requireReader: (request: Request) => void) =>
      new Elysia({ name: "own suppressions" })
        .use(suppressionRoutes(deps))
        .use(suppressionFileRoutes(deps, requireReader)),
    operatorRoutes: () => [operatorSuppressionRoutes(deps)],
  };
}
