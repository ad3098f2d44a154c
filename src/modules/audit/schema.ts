import { Type } from "@sinclair/typebox";
import { dateTime, identifier, oneOf, orNull } from "../../platform/http/answer-schemas.ts";
import { namedObject } from "../../platform/http/openapi.ts";

export const ACTOR_KINDS = ["user", "api_key", "operator", "anonymous"] as const;

export const AuditRecord = namedObject("AuditRecord", {
  id: identifier(),
  at: dateTime("When it was done."),
  actor: namedObject("AuditActor", {
    kind: oneOf(
      ACTOR_KINDS,
      "Who did it: a person, a program with an API key, the operator without signing in, or nobody known.",
    ),
    name: Type.String({
      description: "What it was called then: an address, or a key's name and prefix.",
      examples: ["ana@example.com"],
    }),
    userId: orNull(identifier(), "Of a person who still has an account; else null."),
  }),
  action: Type.String({ description: "What was done.", examples: ["member.role_changed"] }),
  target: orNull(Type.String(), "What it was done to; null: the workspace itself.", "rui@example.com"),
  detail: orNull(
    Type.Object({}, { additionalProperties: true }),
    "More about the change, such as what was before and after. Never a secret.",
    { before: "member", after: "admin" },
  ),
  network: orNull(Type.String(), "The client's address, of IPv6 its /64; null: on the server itself.", "203.0.113.7"),
});
