// The operator's routes for testing a link.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { timeOf } from "../../../platform/http/times.ts";
import { linkTestBody, LinkTestQuery, LinkTestRecord } from "../api/operator-schema.ts";
import type { LinkTest } from "./link-test.ts";
import { buildVerdict } from "./verdict.ts";
import type { LinkTests } from "./link-tests.ts";

const TAG = "Operator";
const DEFAULT_FROM = "Pombo";
const DEFAULT_WAIT_S = 60;
const LastTest = Type.Union([LinkTestRecord, Type.Null()], { description: "Null: no test since the start." });

export interface LinkTestRouteDeps {
  tests: LinkTests;
  /** The first digits of the numbers that can be texted. */
  prefixes: string[];
}

export function linkTestRoutes({ tests, prefixes }: LinkTestRouteDeps) {
  return new Elysia({ name: "operator link tests", prefix: "/api/v1/operator/sms" })
    .post(
      "/trial",
      async ({ request, body, set }) => {
        operatorCaller(request);
        const { to, from = DEFAULT_FROM, route = null, link = null, waitS = DEFAULT_WAIT_S } = body;
        const test = await tests.begin({ to, from, route, link, waitMs: waitS * 1_000 });
        set.status = 201;
        return { data: showTest(test, 0, tests) };
      },
      {
        ...jsonBody(linkTestBody(prefixes)),
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
        const { current } = tests;
        return { data: current === null ? null : showTest(current, Number(query.after ?? 0), tests) };
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
        const { current } = tests;
        current?.finish("stopped");
        return { data: current === null ? null : showTest(current, 0, tests) };
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

function showTest(test: LinkTest, after: number, tests: LinkTests): typeof LinkTestRecord.static {
  const { id, route, link, to, end, results, hasUnmatchedReceipts, waitMs } = test;
  const error = tests.findView(test)?.error ?? null;
  const lines = test.lines.filter(({ no }) => no > after);
  const verdict =
    end === null ? null : buildVerdict({ end, route, link, results, hasUnmatchedReceipts, error, waitMs });
  return {
    id,
    route: route.config.name,
    link: link === "" ? null : link,
    to,
    lines: lines.map((line) => ({ ...line, at: timeOf(line.at) })),
    verdict,
  };
}
