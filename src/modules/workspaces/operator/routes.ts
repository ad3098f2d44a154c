import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { type ListPages, CursorMeta, CursorQuery } from "../../../platform/http/pagination.ts";
import { requestBody } from "../../../platform/http/body/validate.ts";
import type { Log } from "../../../platform/log.ts";
import { findWorkspace, WorkspacePath } from "../find.ts";
import { OperatorWorkspace, WorkspaceChange } from "./schema.ts";
import { requirePlan } from "../plan.ts";
import { type ShowDeps, showWorkspace } from "./serialize.ts";
import type { WorkspaceStore } from "../store.ts";

const LIST = "workspaces";

// What the operator sees and changes of workspaces; their end, blocks, credits, sender ids and keys have files of their own.

export const TAG = "Operator";
export const READ_ERRORS = [401, 403, 404, 422];
export const CHANGE_ERRORS = [400, 401, 403, 404, 413, 415, 422, 503];
export const DELETE_ERRORS = [401, 403, 404, 422, 503];

export interface OperatorWorkspaceDeps extends ShowDeps {
  pages: ListPages;
  workspaces: WorkspaceStore;
  commit: Commit;
  log: Log;
  planNames: string[];
}

export function operatorWorkspaceRoutes(deps: OperatorWorkspaceDeps) {
  return new Elysia({ name: "operator workspaces", prefix: "/api/v1/operator/workspaces" })
    .get(
      "",
      ({ request, query }) => {
        operatorCaller(request);
        const { before, limit } = deps.pages.of(query, LIST);
        const page = deps.pages.page(deps.workspaces.list(before, limit), limit, LIST);
        return { data: page.rows.map((workspace) => showWorkspace(workspace, deps)), meta: page.meta };
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listWorkspaces",
          tag: TAG,
          summary: "List workspaces, newest first",
          description: "Each with its blocks and what it uses.",
          responses: answers(200, Type.Array(OperatorWorkspace), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .get(
      "/:id",
      ({ request, params }) => {
        operatorCaller(request);
        return { data: showWorkspace(findWorkspace(params.id, deps), deps) };
      },
      {
        params: WorkspacePath,
        detail: describe({
          id: "getWorkspace",
          tag: TAG,
          summary: "A workspace, its blocks and what it uses",
          description: "As the list shows it.",
          responses: answers(200, OperatorWorkspace, READ_ERRORS),
        }),
      },
    )
    .patch(
      "/:id",
      async ({ request, params, body }) => {
        operatorCaller(request);
        if (body.plan !== undefined) requirePlan(body.plan, deps.planNames);
        const changed = await deps.commit(() => deps.workspaces.update(findWorkspace(params.id, deps).id, body));
        const { uid, name, plan, smsFolding, smsPriority } = changed;
        deps.log.event("workspace.changed", { workspace: uid, name, plan, smsFolding, smsPriority });
        return { data: showWorkspace(changed, deps) };
      },
      {
        params: WorkspacePath,
        body: requestBody(WorkspaceChange),
        parse: "json",
        detail: describe({
          id: "updateWorkspace",
          tag: TAG,
          summary: "Change a workspace's name, plan, or how its SMS go",
          description: "Another plan's limits hold at once; what is over them stays.",
          responses: answers(200, OperatorWorkspace, CHANGE_ERRORS),
        }),
      },
    );
}
