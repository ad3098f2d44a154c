import { Elysia } from "elysia";
import { operatorCaller } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { findIds } from "./catalog.ts";
import type { Finding } from "./finding.ts";
import type { Results } from "./results.ts";
import { DoctorQuery, DoctorReport } from "./schema.ts";
import type { Examination, ExaminationWish } from "./examiner.ts";

const TAG = "Operator";

export interface DoctorRouteDeps {
  results: Pick<Results, "findings" | "lastRun">;
  /** Null: the domain is not one of the installation. */
  examine: (wish: ExaminationWish) => Promise<Examination | null>;
}

export function doctorRoutes({ results, examine }: DoctorRouteDeps) {
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
    );
}

function show(findings: readonly Finding[], run: { at: number; tookMs: number } | null): typeof DoctorReport.static {
  return {
    at: run === null ? null : toIsoTime(run.at),
    tookMs: run === null ? null : Math.round(run.tookMs),
    findings: findings.map(({ id, level, subject = null, seen, step }) => ({ id, level, subject, seen, step })),
  };
}
