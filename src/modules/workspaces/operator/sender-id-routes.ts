import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { text, uuid } from "../../../platform/http/request-schemas.ts";
import { findWorkspace, WorkspacePath } from "../find.ts";
import { CHANGE_ERRORS, DELETE_ERRORS, TAG, type OperatorWorkspaceDeps } from "./deps.ts";
import { SenderId } from "../schema.ts";
import { DeletedSenderId, SenderIdCreate } from "./schema.ts";
import { addSenderId, removeSenderId } from "../sender-store.ts";

const MAX_ASKED = 100;

export function senderIdRoutes(deps: OperatorWorkspaceDeps) {
  return new Elysia({ name: "operator sender ids", prefix: "/api/v1/operator/workspaces/:id/sender-ids" })
    .post(
      "",
      async ({ request, params, body, set }) => {
        operatorCaller(request);
        const { uid, name, isDefault, priority, isNew } = await deps.commit(() => {
          const { id: workspaceId, uid: workspace } = findWorkspace(params.id, deps);
          const given = { isDefault: false, ...body, workspaceId, now: deps.clock.now() };
          const added = addSenderId(given, deps.senderIds);
          const action = added.isNew ? "sender_id.added" : "sender_id.changed";
          deps.recordAudit({ workspaceId, request, action, target: body.name });
          return { uid: workspace, ...added };
        });
        deps.log.event(isNew ? "sender_id.added" : "sender_id.changed", { workspace: uid, name, isDefault, priority });
        set.status = isNew ? 201 : 200;
        return { data: { name, isDefault, priority } };
      },
      {
        params: WorkspacePath,
        ...jsonBody(SenderIdCreate),
        detail: describe({
          id: "createSenderId",
          tag: TAG,
          summary: "Add a sender id: a name or number that a workspace's SMS may come from",
          description:
            "The first one is the default. An existing one is answered with 200, and may become the default or get another priority.",
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
          deps.recordAudit({ workspaceId, request, action: "sender_id.deleted", target: name });
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
          summary: "Remove a sender id of a workspace",
          description: "If it was the default, the oldest of the others becomes it.",
          responses: answers(200, DeletedSenderId, DELETE_ERRORS),
        }),
      },
    );
}

function noSuchSenderId() {
  return notFound("The workspace has no such sender id", "Its record lists them, with their exact spelling.");
}
