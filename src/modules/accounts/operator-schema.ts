// Answers of the operator's routes about people.

import { Type } from "@sinclair/typebox";
import { dateTime, identifier, orNull } from "../../platform/http/answer-schemas.ts";
import { namedObject } from "../../platform/http/openapi.ts";
import { Me } from "./schema.ts";

const { email, name, isOperator, emailVerified } = Me.properties.user.properties;
const { password, totp, passkeys } = Me.properties.factors.properties;

export const OperatorUser = namedObject("OperatorUser", {
  id: identifier(),
  email,
  name,
  isOperator,
  emailVerified,
  factors: Type.Object({ password, totp, passkeys }, { description: "What the person signs in by." }),
  workspaces: Me.properties.workspaces,
  createdAt: dateTime(),
  lastSeenAt: orNull(
    dateTime(),
    "When a session that goes on was used last, to within 10 minutes; null: there is none.",
  ),
});

export const DashboardLink = namedObject("DashboardLink", {
  url: Type.String({
    format: "uri",
    description: "It works once. It is shown only in this answer.",
    examples: ["https://mail.example.net/dashboard/setup#t0ken"],
  }),
  expiresAt: dateTime("It does not work any more from then on."),
  tunnel: orNull(
    Type.String(),
    "The command that makes it reachable from another machine; null: it is, as `[dashboard] url` says.",
  ),
});

export const RemovedUser = namedObject("RemovedUser", {
  id: identifier(),
  email,
  ownerless: Type.Array(Type.Object({ id: identifier(), name: Type.String({ examples: ["Loja da Maria"] }) }), {
    description: "Workspaces that have no owner any more. They go on, with their keys and their other members.",
  }),
  operators: Type.Integer({ minimum: 0, description: "Operators who are left.", examples: [1] }),
});
