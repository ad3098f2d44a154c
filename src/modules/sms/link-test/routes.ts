import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { requestBody } from "../../../platform/http/body/validate.ts";
import { timeOf } from "../../../platform/http/times.ts";
import { trialBody, TrialQuery, TrialRecord } from "../api/operator-schema.ts";
import type { LinkTest } from "./link-test.ts";
import { verdictOf } from "./verdict.ts";
import type { LinkTests } from "./link-tests.ts";

// The operator tries a link.

const TAG = "Operator";
const DEFAULT_FROM = "Pombo";
const DEFAULT_WAIT_S = 60;
const LastTrial = Type.Union([TrialRecord, Type.Null()], { description: "Null: no test since the start." });

export interface LinkTestRouteDeps {
  trials: LinkTests;
  /** The first digits of the numbers that can be texted. */
  prefixes: string[];
}

export function linkTestRoutes({ trials, prefixes }: LinkTestRouteDeps) {
  return new Elysia({ name: "operator trials", prefix: "/api/v1/operator/sms" })
    .post(
      "/trial",
      async ({ request, body, set }) => {
        operatorCaller(request);
        const { to, from = DEFAULT_FROM, route = null, link = null, waitS = DEFAULT_WAIT_S } = body;
        const trial = await trials.begin({ to, from, route, link, waitMs: waitS * 1_000 });
        set.status = 201;
        return { data: showTrial(trial, 0, trials) };
      },
      {
        body: requestBody(trialBody(prefixes)),
        parse: "json",
        detail: describe({
          id: "startSmsLinkTest",
          tag: TAG,
          summary: "Test a link with three messages",
          description:
            "Sends a message in the GSM alphabet, one in UCS-2 and one of two parts over the link. They belong to no workspace and cost no credit. A new test ends the previous one.",
          responses: answers(201, TrialRecord, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .get(
      "/trial",
      ({ request, query }) => {
        operatorCaller(request);
        const { current } = trials;
        return { data: current === null ? null : showTrial(current, Number(query.after ?? 0), trials) };
      },
      {
        query: TrialQuery,
        detail: describe({
          id: "getSmsLinkTest",
          tag: TAG,
          summary: "Get the last test of a link",
          description: "With `after`, only newer lines.",
          responses: answers(200, LastTrial, [401, 403, 422]),
        }),
      },
    )
    .delete(
      "/trial",
      ({ request }) => {
        operatorCaller(request);
        const { current } = trials;
        current?.finish("stopped");
        return { data: current === null ? null : showTrial(current, 0, trials) };
      },
      {
        detail: describe({
          id: "stopSmsLinkTest",
          tag: TAG,
          summary: "Stop the test of a link",
          description: "Messages already sent may still arrive.",
          responses: answers(200, LastTrial, [401, 403]),
        }),
      },
    );
}

function showTrial(trial: LinkTest, after: number, trials: LinkTests): typeof TrialRecord.static {
  const { id, route, link, to, end, tried, hasStrangeReceipts, waitMs } = trial;
  const error = trials.viewOf(trial)?.error ?? null;
  const lines = trial.lines.filter(({ no }) => no > after);
  const verdict = end === null ? null : verdictOf({ end, route, link, tried, hasStrangeReceipts, error, waitMs });
  return {
    id,
    route: route.config.name,
    link: link === "" ? null : link,
    to,
    lines: lines.map((line) => ({ ...line, at: timeOf(line.at) })),
    verdict,
  };
}
