// Finds the workspace and the plan that a request names.

import { Type } from "@sinclair/typebox";
import { notFound, validationError } from "../../platform/http/errors.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import type { WorkspaceRow, WorkspaceStore } from "./store.ts";

/** The path parameters of a workspace's own routes. */
export const WorkspacePath = Type.Object({ id: uuid() });

/** Throws 404 for what is no workspace, or was deleted. Before a write it is asked inside the transaction. */
export function findWorkspace(id: string, { workspaces }: { workspaces: Pick<WorkspaceStore, "byUid"> }): WorkspaceRow {
  const workspace = workspaces.byUid(id.toLowerCase());
  if (workspace !== undefined) return workspace;
  throw notFound("There is no workspace with this id", "GET /api/v1/operator/workspaces lists them.");
}

/** Throws 422 with the names that there are. */
export function requirePlan(name: string, planNames: readonly string[]): void {
  if (planNames.includes(name)) return;
  throw validationError([{ path: ["plan"], message: `must be one of the configured plans: ${planNames.join(", ")}` }]);
}
