import { Type } from "@sinclair/typebox";
import { checkName, text } from "../../platform/http/request-schemas.ts";
import { CreatedKey } from "../api-keys/schema.ts";
import { bodyObject, namedObject } from "../../platform/http/openapi.ts";
import { identifier } from "../../platform/http/answer-schemas.ts";

export const workspaceName = text(
  { minLength: 1, maxLength: 100, description: "The name of the workspace.", examples: ["Loja da Maria"] },
  checkName,
);

export function planName(description: string) {
  return text({ minLength: 1, maxLength: 50, description });
}

export const WorkspaceCreate = bodyObject("WorkspaceCreate", {
  name: workspaceName,
  plan: Type.Optional(planName("One of the configured plans. With the operator key only.")),
});

export const CreatedWorkspace = namedObject("CreatedWorkspace", {
  workspaceId: identifier(),
  workspaceName: Type.String(),
  apiKey: CreatedKey,
});
