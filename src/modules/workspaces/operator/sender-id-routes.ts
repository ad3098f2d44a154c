import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { requestBody } from "../../../platform/http/body/validate.ts";
import { text, uuid } from "../../../platform/http/request-schemas.ts";
import type { Log } from "../../../platform/log.ts";
import { findWorkspace, WorkspacePath } from "../find.ts";
import { CHANGE_ERRORS, DELETE_ERRORS, TAG } from "./routes.ts";
import { DeletedSenderId, SenderId, SenderIdCreate } from "./schema.ts";
import { addSenderId, removeSenderId } from "../sender-ids.ts";
import type { SenderIdStore } from "../sender-store.ts";
import type { WorkspaceStore } from "../store.ts";

/** Any name may be asked for; only those that are there can be deleted. */
const MAX_ASKED = 100;

export interface SenderIdDeps {
  workspaces: WorkspaceStore;
  senderIds: SenderIdStore;
  commit: Commit;
  clock: Pick<Clock, "now">;
  log: Log;
}

/** The names and numbers that the operator lets a workspace's SMS come from. */
export function senderIdRoutes(deps: SenderIdDeps) {
  return new Elysia({ name: "operator sender ids", prefix: "/api/v1/operator/workspaces/:id/sender-ids" })
    .post(
      "",
      async ({ request, params, body, set }) => {
        operatorCaller(request);
        const { uid, name, isDefault, priority, isNew } = await deps.commit(() => {
          const { id: workspaceId, uid: workspace } = findWorkspace(params.id, deps);
          const { name: wanted, isDefault: shall = false, priority: urgency } = body;
          const given = { name: wanted, isDefault: shall, priority: urgency, now: deps.clock.now() };
          return { uid: workspace, ...addSenderId({ workspaceId, ...given }, deps.senderIds) };
        });
        deps.log.event(isNew ? "sender_id.added" : "sender_id.changed", { workspace: uid, name, isDefault, priority });
        set.status = isNew ? 201 : 200;
        return { data: { name, isDefault, priority } };
      },
      {
        params: WorkspacePath,
        body: requestBody(SenderIdCreate),
        parse: "json",
        detail: describe({
          id: "createSenderId",
          tag: TAG,
          summary: "Let a workspace's SMS come from a name or number",
          description:
            "The first one is the default. One that is there already is 200, and may become the default or of another priority.",
          responses: { ...answers(200, SenderId, []), ...answers(201, SenderId, CHANGE_ERRORS) },
        }),
      },
    )
    .delete(
      "/:name",
      async ({ request, params }) => {
        operatorCaller(request);
        const { name } = params;
        const uid = await deps.commit(() => {
          const { id: workspaceId, uid: workspace } = findWorkspace(params.id, deps);
          if (!removeSenderId(workspaceId, name, deps.senderIds)) throw noSuchSenderId();
          return workspace;
        });
        deps.log.event("sender_id.deleted", { workspace: uid, name });
        return { data: { name, deleted: true } };
      },
      {
        params: Type.Object({
          id: uuid(),
          name: text({ minLength: 1, maxLength: MAX_ASKED, description: "The name or number." }),
        }),
        detail: describe({
          id: "deleteSenderId",
          tag: TAG,
          summary: "Take a sender id from a workspace",
          description: "Was it the default, the oldest of the others becomes that.",
          responses: answers(200, DeletedSenderId, DELETE_ERRORS),
        }),
      },
    );
}

function noSuchSenderId() {
  return notFound("The workspace has no such sender id", "Its record shows them, as they have to be written.");
}
