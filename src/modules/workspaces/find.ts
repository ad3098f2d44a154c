import { Type } from "@sinclair/typebox";
import type { AppError } from "../../platform/errors.ts";
import { notFound } from "../../platform/http/errors.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import type { WorkspaceRow, WorkspaceStore } from "./store.ts";

/** The path parameters of a workspace's own routes. */
export const WorkspacePath = Type.Object({ id: uuid() });

/** Throws 404 for what is no workspace, or was deleted. Before a write it is asked inside the transaction. */
export function findWorkspace(id: string, { workspaces }: { workspaces: Pick<WorkspaceStore, "byUid"> }): WorkspaceRow {
  const workspace = workspaces.byUid(id.toLowerCase());
  if (workspace === undefined) throw noSuchWorkspace();
  return workspace;
}

function noSuchWorkspace(): AppError {
  return notFound("There is no workspace with this id", "GET /api/v1/operator/workspaces lists them.");
}
