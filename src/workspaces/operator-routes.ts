import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Commit } from "../db/commit.ts";
import { operatorCaller } from "../http/auth.ts";
import { answers, describe } from "../http/openapi.ts";
import { CursorMeta, CursorQuery, cursorOf, cursorPage } from "../http/pagination.ts";
import type { Log } from "../log.ts";
import { OperatorWorkspace } from "./operator-schema.ts";
import { type ShowParts, showWorkspace } from "./show.ts";
import type { WorkspaceStore } from "./store.ts";

const TAG = "Operator";

export interface OperatorWorkspaceParts extends ShowParts {
  workspaces: WorkspaceStore;
  commit: Commit;
  log: Log;
}

/** What the operator sees and changes of workspaces. */
export function operatorWorkspaceRoutes(parts: OperatorWorkspaceParts) {
  return new Elysia({ name: "operator workspaces", prefix: "/api/v1/operator" }).get(
    "/workspaces",
    ({ request, query }) => {
      operatorCaller(request);
      const { before, limit } = cursorOf(query);
      const page = cursorPage(parts.workspaces.list(before, limit), limit);
      return { data: page.rows.map((workspace) => showWorkspace(workspace, parts)), meta: page.meta };
    },
    {
      query: CursorQuery,
      detail: describe({
        tag: TAG,
        summary: "List workspaces, newest first",
        responses: answers(200, Type.Array(OperatorWorkspace), [401, 403, 422], CursorMeta),
      }),
    },
  );
}
