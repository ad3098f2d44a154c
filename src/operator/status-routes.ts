import { Elysia } from "elysia";
import { operatorCaller } from "../http/auth.ts";
import { answers, describe } from "../http/openapi.ts";
import { TAG } from "./queue-routes.ts";
import { statusOf, type StatusParts } from "./status.ts";
import { InstanceStatus } from "./status-schema.ts";

export function operatorStatusRoutes(parts: StatusParts) {
  return new Elysia({ name: "operator status", prefix: "/api/v1/operator/status" }).get(
    "",
    ({ request }) => {
      operatorCaller(request);
      return { data: statusOf(parts) };
    },
    {
      detail: describe({
        tag: TAG,
        summary: "How the instance is",
        description: "What needs your hand stands among the troubles.",
        responses: answers(200, InstanceStatus, [401, 403]),
      }),
    },
  );
}
