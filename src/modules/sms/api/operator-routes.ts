// The operator's view of the links to SMSCs. Link tests are in modules/sms/link-test/routes.ts.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import type { LinkOverview } from "./link-overview.ts";
import { LinkHistory, LinkHistoryQuery, OperatorLink } from "./operator-schema.ts";

const TAG = "Operator";
const READ_ERRORS = [401, 403, 404, 422];

export function linkRoutes({ overview }: { overview: LinkOverview }) {
  return new Elysia({ name: "operator links", prefix: "/api/v1/operator/sms" })
    .get(
      "/links",
      ({ request }) => {
        operatorCaller(request);
        return { data: overview.links() };
      },
      {
        detail: describe({
          id: "listSmsLinks",
          tag: TAG,
          summary: "List the links to SMSCs",
          description: "Their current state; while no instance runs, their configuration.",
          responses: answers(200, Type.Array(OperatorLink), [401, 403]),
        }),
      },
    )
    .get(
      "/link-history",
      ({ request, query }) => {
        operatorCaller(request);
        const found = overview.history(query.link ?? null, Number(query.limit ?? 50));
        if (found === null)
          throw notFound("There is no link with this name", "GET /api/v1/operator/sms/links lists them.");
        return { data: found };
      },
      {
        query: LinkHistoryQuery,
        detail: describe({
          id: "getSmsLinkHistory",
          tag: TAG,
          summary: "Get the history of a link and its last PDUs",
          description: "For one link, or for all.",
          responses: answers(200, LinkHistory, READ_ERRORS),
        }),
      },
    );
}
