import { Elysia } from "elysia";
import { operatorCaller, requireFreshProof } from "../../../platform/http/auth.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { insertKey } from "../../api-keys/create.ts";
import { createKey } from "../../api-keys/key.ts";
import { CreatedKey } from "../../api-keys/schema.ts";
import { findWorkspace, WorkspacePath } from "../find.ts";
import { CHANGE_ERRORS, TAG, type OperatorWorkspaceDeps } from "./deps.ts";
import { OperatorKeyCreate, RotatedKey } from "./schema.ts";

/** Keys that the operator creates: another one for a workspace, and a new operator key. */
export function operatorKeyRoutes(deps: OperatorWorkspaceDeps) {
  return new Elysia({ name: "operator keys", prefix: "/api/v1/operator" })
    .post(
      "/workspaces/:id/keys",
      async ({ request, params, body, set }) => {
        operatorCaller(request);
        requireFreshProof(request);
        const { uid, key } = await deps.commit(() => {
          const workspace = findWorkspace(params.id, deps);
          const wanted = { workspaceId: workspace.id, name: body.name, domain: null, request };
          return { uid: workspace.uid, key: insertKey(wanted, deps) };
        });
        deps.log.event("key.created", { workspace: uid, id: key.id });
        set.status = 201;
        return { data: key };
      },
      {
        params: WorkspacePath,
        ...jsonBody(OperatorKeyCreate),
        detail: describe({
          id: "createWorkspaceKey",
          tag: TAG,
          summary: "Create an API key for a workspace that has lost its own",
          description: "For the whole workspace, beyond the limit of its plan. The key is shown only in this answer.",
          responses: answers(201, CreatedKey, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/key/rotate",
      async ({ request }) => {
        operatorCaller(request);
        requireFreshProof(request);
        const { key, hash } = createKey(deps.random);
        await deps.commit(() => {
          deps.settings.set("operator_key_hash", hash);
          deps.recordAudit({ workspaceId: null, request, action: "operator_key.rotated", target: null });
        });
        deps.log.event("operator_key.rotated");
        return { data: { operatorKey: key } };
      },
      {
        detail: describe({
          id: "rotateOperatorKey",
          tag: TAG,
          summary: "Replace the operator key",
          description: "The old key is invalid at once; the new one is shown only in this answer.",
          responses: answers(200, RotatedKey, [400, 401, 403, 413, 415, 503]),
        }),
      },
    );
}
