// The operator's routes for the links to SMSCs and their tests.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import type { NumberingPlan } from "../encoding/phone-number.ts";
import type { LinkError } from "../gateway/link-status.ts";
import type { LinkTest } from "../link-test/link-test.ts";
import type { LinkTests } from "../link-test/link-tests.ts";
import { buildVerdict } from "../link-test/verdict.ts";
import type { LinkOverview } from "./link-overview.ts";
import {
  LinkHistory,
  LinkHistoryQuery,
  linkTestBody,
  LinkTestQuery,
  LinkTestRecord,
  OperatorLink,
} from "./operator-schema.ts";

const TAG = "Operator";
const READ_ERRORS = [401, 403, 404, 422];
const DEFAULT_FROM = "Pombo";
const DEFAULT_WAIT_S = 60;
const LastTest = Type.Union([LinkTestRecord, Type.Null()], { description: "Null: no test since the start." });

export interface LinkTestRouteDeps {
  tests: LinkTests;
  numbering: NumberingPlan;
}

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

export function linkTestRoutes({ tests, numbering }: LinkTestRouteDeps) {
  const showCurrent = (after: number) => {
    const { current } = tests;
    return current === null ? null : showTest(current, after, tests.findError(current));
  };
  return new Elysia({ name: "operator link tests", prefix: "/api/v1/operator/sms" })
    .post(
      "/trial",
      async ({ request, body, set }) => {
        operatorCaller(request);
        const { to, from = DEFAULT_FROM, route = null, link = null, waitS = DEFAULT_WAIT_S } = body;
        const test = await tests.begin({ to, from, route, link, waitMs: waitS * 1_000 });
        set.status = 201;
        return { data: showTest(test, 0, tests.findError(test)) };
      },
      {
        ...jsonBody(linkTestBody(numbering)),
        detail: describe({
          id: "startSmsLinkTest",
          tag: TAG,
          summary: "Test a link with three messages",
          description:
            "Sends a message in the GSM alphabet, one in UCS-2 and one of two parts over the link. They belong to no workspace and cost no credit. A new test ends the previous one.",
          responses: answers(201, LinkTestRecord, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .get(
      "/trial",
      ({ request, query }) => {
        operatorCaller(request);
        return { data: showCurrent(Number(query.after ?? 0)) };
      },
      {
        query: LinkTestQuery,
        detail: describe({
          id: "getSmsLinkTest",
          tag: TAG,
          summary: "Get the last test of a link",
          description: "With `after`, only newer lines.",
          responses: answers(200, LastTest, [401, 403, 422]),
        }),
      },
    )
    .delete(
      "/trial",
      ({ request }) => {
        operatorCaller(request);
        tests.current?.finish("stopped");
        return { data: showCurrent(0) };
      },
      {
        detail: describe({
          id: "stopSmsLinkTest",
          tag: TAG,
          summary: "Stop the test of a link",
          description: "Messages already sent may still arrive.",
          responses: answers(200, LastTest, [401, 403]),
        }),
      },
    );
}

function showTest(test: LinkTest, after: number, error: LinkError | null): typeof LinkTestRecord.static {
  const { id, route, link, to } = test.deps;
  const lines = test.lines.filter(({ no }) => no > after);
  return { id, route: route.config.name, link, to, lines, verdict: buildVerdict(test, error) };
}
