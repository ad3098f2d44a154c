import { Type } from "@sinclair/typebox";
import { checkName, text } from "../../platform/http/request-schemas.ts";
import { CreatedKey } from "../api-keys/schema.ts";
import { named } from "../../platform/http/openapi.ts";

export const workspaceName = text(
  { minLength: 1, maxLength: 100, description: "The name of the workspace.", examples: ["Loja da Maria"] },
  checkName,
);

export function planName(description: string) {
  return text({ minLength: 1, maxLength: 50, description });
}

export const WorkspaceCreate = named(
  "WorkspaceCreate",
  Type.Object(
    {
      name: workspaceName,
      plan: Type.Optional(planName("One of the configured plans. With the operator key only.")),
    },
    { additionalProperties: false },
  ),
);

export const CreatedWorkspace = named(
  "CreatedWorkspace",
  Type.Object({
    workspaceId: Type.String({ format: "uuid" }),
    workspaceName: Type.String(),
    apiKey: CreatedKey,
  }),
);
