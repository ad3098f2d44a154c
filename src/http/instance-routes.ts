import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { describe, jsonAnswer } from "./openapi.ts";

const TAG = "Instance";

const Health = Type.Object({ status: Type.Literal("alive") });
const Readiness = Type.Object({
  status: Type.Union([Type.Literal("ready"), Type.Literal("not ready")]),
  reason: Type.Union([Type.String(), Type.Null()], { description: "Why it cannot work at the moment." }),
});

/** What needs no key: whether the instance lives and works, and what its API is. */
export function instanceRoutes(parts: { trouble: () => string | null; document: () => unknown }) {
  return new Elysia({ name: "instance" })
    .get("/health", () => ({ status: "alive" }), {
      detail: describe({
        tag: TAG,
        summary: "Whether the process lives",
        isOpen: true,
        responses: { 200: jsonAnswer("It does", Health) },
      }),
    })
    .get(
      "/ready",
      () => {
        const reason = parts.trouble();
        const isReady = reason === null;
        return Response.json({ status: isReady ? "ready" : "not ready", reason }, { status: isReady ? 200 : 503 });
      },
      {
        detail: describe({
          tag: TAG,
          summary: "Whether it can accept and send",
          isOpen: true,
          responses: { 200: jsonAnswer("It can", Readiness), 503: jsonAnswer("It cannot at the moment", Readiness) },
        }),
      },
    )
    .get("/api/v1/openapi.json", () => parts.document(), {
      detail: describe({
        tag: TAG,
        summary: "This document",
        isOpen: true,
        responses: { 200: jsonAnswer("OpenAPI 3.0", Type.Object({})) },
      }),
    });
}
