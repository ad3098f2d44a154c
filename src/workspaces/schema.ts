import { Type } from "@sinclair/typebox";
import { text } from "../http/rules.ts";
import { CreatedKey } from "../keys/schema.ts";

export const WorkspaceCreate = Type.Object(
  {
    name: text({ minLength: 1, maxLength: 100, description: "Whose workspace it is.", examples: ["Loja da Maria"] }),
    plan: Type.Optional(
      text({ minLength: 1, maxLength: 50, description: "One of the configured plans. With the operator key only." }),
    ),
  },
  { additionalProperties: false },
);

export const CreatedWorkspace = Type.Object({
  workspaceId: Type.String({ format: "uuid" }),
  workspaceName: Type.String(),
  apiKey: CreatedKey,
});
