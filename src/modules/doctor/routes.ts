import { Elysia } from "elysia";
import { operatorCaller } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { findIds } from "./catalog.ts";
import type { Finding } from "./finding.ts";
import type { Results } from "./results.ts";
import type { SendTest } from "./send-test/send-test.ts";
import { DoctorQuery, DoctorReport, TestMail, TestMailRequest } from "./schema.ts";
import type { Examination, ExaminationWish } from "./examiner.ts";

const TAG = "Operator";

export interface DoctorRouteDeps {
  results: Pick<Results, "findings" | "lastRun">;
  /** Null: the domain is not one of the installation. */
  examine: (wish: ExaminationWish) => Promise<Examination | null>;
  test: Pick<SendTest, "begin" | "show">;
}

export function doctorRoutes({ results, examine, test }: DoctorRouteDeps) {
  return new Elysia({ name: "operator doctor", prefix: "/api/v1/operator/doctor" })
    .get(
      "",
      ({ request }) => {
        operatorCaller(request);
        const { lastRun } = results;
        return { data: show(results.findings(), lastRun) };
      },
      {
        detail: describe({
          id: "getDoctorReport",
          tag: TAG,
          summary: "Get what the doctor last found",
          description: "Findings of domains may be of earlier runs: in the background not all are looked at each time.",
          responses: answers(200, DoctorReport, [401, 403]),
        }),
      },
    )
    .post(
      "",
      async ({ request, query }) => {
        operatorCaller(request);
        const { domain = null, only, rdap } = query;
        const ids = only === undefined ? null : only.split(",").flatMap((word) => findIds(word) ?? []);
        const found = await examine({ domain: domain?.toLowerCase() ?? null, only: ids, rdap: rdap === "true" });
        if (found === null)
          throw notFound(
            "No workspace sends with this domain",
            "The doctor looks at domains that are verified or in warning: GET /api/v1/operator/domains lists all.",
          );
        return { data: show(found.findings, found) };
      },
      {
        query: DoctorQuery,
        detail: describe({
          id: "checkInstance",
          tag: TAG,
          summary: "Look at the instance as the world sees it",
          description:
            "Looks at addresses, names, DNS records, blocklists and what providers answered, and says what to do. " +
            "This takes seconds, at most 40, and until a run that is under way has ended. Two requests for the same are answered by one run.",
          responses: answers(200, DoctorReport, [401, 403, 404, 422, 429]),
        }),
      },
    )
    .post(
      "/test-mail",
      async ({ request, body, set }) => {
        operatorCaller(request);
        const data = await test.begin(body.to, body.domain?.toLowerCase() ?? null);
        set.status = 202;
        return { data };
      },
      {
        ...jsonBody(TestMailRequest),
        detail: describe({
          id: "sendTestMail",
          tag: TAG,
          summary: "Send one real email, to look at how it arrives",
          description:
            "It goes the way of all mail, from `pombo@` the domain. The answer comes at once; GET on the same path says what is said over it. " +
            "Another one takes the place of the last.",
          responses: answers(202, TestMail, [400, 401, 403, 404, 413, 415, 422, 429, 503]),
        }),
      },
    )
    .get(
      "/test-mail",
      ({ request }) => {
        operatorCaller(request);
        const data = test.show();
        if (data === null) throw notFound("No test was sent since the start", "POST on the same path sends one.");
        return { data };
      },
      {
        detail: describe({
          id: "getTestMail",
          tag: TAG,
          summary: "Get what became of the last test email",
          description: "With what was said over it so far, and the reply to it.",
          responses: answers(200, TestMail, [401, 403, 404]),
        }),
      },
    );
}

function show(findings: readonly Finding[], run: { at: number; tookMs: number } | null): typeof DoctorReport.static {
  return {
    at: run === null ? null : toIsoTime(run.at),
    tookMs: run === null ? null : Math.round(run.tookMs),
    findings: findings.map(({ id, level, subject = null, seen, step }) => ({ id, level, subject, seen, step })),
  };
}
