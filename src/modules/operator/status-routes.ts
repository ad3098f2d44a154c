import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { operatorCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { TAG } from "./queue-routes.ts";
import { statusOf, type StatusDeps } from "./instance-status.ts";
import { InstanceStatus } from "./status-schema.ts";

const Query = Type.Object({
  check: Type.Optional(
    Type.Union([Type.Literal("true"), Type.Literal("false")], {
      description:
        "With true pombo reads all pages of the database first and lists damaged ones in `issues`. Takes seconds per gigabyte.",
    }),
  ),
});

export function operatorStatusRoutes(deps: StatusDeps) {
  return new Elysia({ name: "operator status", prefix: "/api/v1/operator/status" }).get(
    "",
    async ({ request, query }) => {
      operatorCaller(request);
      if (query.check === "true") await deps.checkPages();
      return { data: statusOf(deps) };
    },
    {
      query: Query,
      detail: describe({
        id: "getInstanceStatus",
        tag: TAG,
        summary: "How the instance is",
        description: "What needs your hand stands among the issues.",
        responses: answers(200, InstanceStatus, [401, 403, 422, 503]),
      }),
    },
  );
}
