import { Elysia } from "elysia";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { answers, Deleted, describe } from "../../../platform/http/openapi.ts";
import type { Log } from "../../../platform/log.ts";
import { type DeleteDeps, deleteWorkspace, type GoneWorkspace } from "../delete.ts";
import { findWorkspace, WorkspacePath } from "../find.ts";
import { DELETE_ERRORS, TAG } from "./routes.ts";

export interface DeleteRouteDeps extends DeleteDeps {
  commit: Commit;
  log: Log;
  /** Told once that is durable: what is remembered of it is to be forgotten, and the rest removed. */
  deleted: (gone: GoneWorkspace) => void;
}

/** The end of a workspace. */
export function deleteRoutes(deps: DeleteRouteDeps) {
  return new Elysia({ name: "operator delete", prefix: "/api/v1/operator/workspaces" }).delete(
    "/:id",
    async ({ request, params }) => {
      operatorCaller(request);
      const deleted = await deps.commit(() => deleteWorkspace(findWorkspace(params.id, deps), deps));
      deps.log.event("workspace.deleted", { workspace: deleted.workspace.uid });
      deps.deleted(deleted);
      return { data: { id: deleted.workspace.uid, deleted: true } };
    },
    {
      params: WorkspacePath,
      detail: describe({
        id: "deleteWorkspace",
        tag: TAG,
        summary: "Delete a workspace and all that belongs to it",
        description:
          "Its keys work no more, its signing keys are destroyed and nothing that waits is sent. Its emails are removed over the next minutes.",
        responses: answers(200, Deleted, DELETE_ERRORS),
      }),
    },
  );
}
