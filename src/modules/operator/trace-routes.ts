import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { operatorCaller } from "../../platform/http/auth.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { TAG } from "./queue-routes.ts";
import { findMessages, type TraceDeps, traceOf } from "./trace.ts";
import { Trace, TraceCandidate, TraceQuery } from "./trace-schema.ts";

export function operatorTraceRoutes(deps: TraceDeps) {
  return new Elysia({ name: "operator trace", prefix: "/api/v1/operator/trace" })
    .get(
      "",
      async ({ request, query }) => {
        operatorCaller(request);
        return { data: await findMessages(query.find ?? null, deps) };
      },
      {
        query: TraceQuery,
        detail: describe({
          id: "findMessages",
          tag: TAG,
          summary: "Find messages by the beginning of an id, or by recipient",
          description: "The newest 50.",
          responses: answers(200, Type.Array(TraceCandidate), [401, 403, 422]),
        }),
      },
    )
    .get(
      "/:id",
      ({ request, params }) => {
        operatorCaller(request);
        return { data: traceOf(params.id, deps) };
      },
      {
        params: Type.Object({ id: uuid("Of an email or a text, or of an event or a webhook delivery about one.") }),
        detail: describe({
          id: "traceMessage",
          tag: TAG,
          summary: "A message's whole way",
          description:
            "Its record, every attempt with what was said, its recipient's suppressions, and the events about it.",
          responses: answers(200, Trace, [401, 403, 404, 422]),
        }),
      },
    );
}
