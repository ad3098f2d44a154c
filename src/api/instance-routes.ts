import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { isReadyWith, type HealthIssue } from "../platform/health-issue.ts";
import { describe, jsonAnswer, namedObject } from "../platform/http/openapi.ts";
import { toIsoTime } from "../platform/http/times.ts";
import { dateTime, oneOf, orNull } from "../platform/http/answer-schemas.ts";

const TAG = "Instance";

const Health = namedObject("Health", { status: Type.Literal("alive") });
const Readiness = namedObject("Readiness", {
  status: oneOf(["ready", "not ready"]),
  reason: orNull(Type.String(), "Why it cannot work now."),
  issues: Type.Array(
    Type.Object({
      component: Type.String({
        examples: ["database", "disk", "worker", "dns", "egress", "relay", "replication", "delivery", "sms", "clock"],
      }),
      reason: Type.String({ description: "The problem, and what to do or what happens automatically." }),
      since: dateTime(),
    }),
    {
      description:
        "The components that keep it from working; while it is ready, issues that the operator should solve.",
    },
  ),
});

const READY = { status: "ready", reason: null, issues: [] };
const FULL_DISK = "The disk is nearly full: 100 MiB are free. Sends are refused until there is room.";
const NOT_READY = {
  status: "not ready",
  reason: FULL_DISK,
  issues: [{ component: "disk", reason: FULL_DISK, since: "2026-11-21T12:00:00.000Z" }],
};

/** Routes that need no key: whether the instance lives and works, and the OpenAPI document. */
export function instanceRoutes(parts: { issues: () => HealthIssue[]; document: () => Promise<unknown> }) {
  return new Elysia({ name: "instance" })
    .get("/health", () => ({ status: "alive" }), {
      detail: describe({
        id: "getHealth",
        tag: TAG,
        summary: "Check that the process is alive",
        description: "For a process supervisor: the process answers.",
        isOpen: true,
        responses: { 200: jsonAnswer("It does", Health) },
      }),
    })
    .get(
      "/ready",
      () => {
        const issues = parts.issues();
        const inTheWay = issues.filter(({ isAdvisory }) => isAdvisory !== true);
        const isReady = isReadyWith(issues);
        const readiness = {
          status: isReady ? "ready" : "not ready",
          reason: isReady ? null : inTheWay.map(({ reason }) => reason).join(" "),
          issues: issues.map(({ component, reason, since }) => ({ component, reason, since: toIsoTime(since) })),
        };
        return Response.json(readiness, { status: isReady ? 200 : 503 });
      },
      {
        detail: describe({
          id: "getReadiness",
          tag: TAG,
          summary: "Check that the instance can accept and send",
          description:
            "503 while it cannot; `issues` also lists issues that the operator should solve while it is ready.",
          isOpen: true,
          responses: {
            200: jsonAnswer("It can", Readiness, READY),
            503: jsonAnswer("It cannot at the moment", Readiness, NOT_READY),
          },
        }),
      },
    )
    .get("/api/v1/openapi.json", () => parts.document(), {
      detail: describe({
        id: "getOpenApiDocument",
        tag: TAG,
        summary: "Get this document",
        description: "It describes the routes of this instance.",
        isOpen: true,
        responses: { 200: jsonAnswer("OpenAPI 3.1", Type.Object({})) },
      }),
    });
}
