import { Elysia } from "elysia";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { operatorCaller } from "../../../platform/http/auth.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { requestBody } from "../../../platform/http/body/validate.ts";
import type { Log } from "../../../platform/log.ts";
import { findWorkspace, WorkspacePath } from "../find.ts";
import { CHANGE_ERRORS, TAG } from "./routes.ts";
import { OperatorWorkspace, WorkspaceBlock } from "./schema.ts";
import { type ShowDeps, showWorkspace } from "./serialize.ts";
import type { WorkspaceStore } from "../store.ts";

export interface BlockDeps extends ShowDeps {
  workspaces: WorkspaceStore;
  commit: Commit;
  log: Log;
  /** Inside the transaction that lifts a block for its rates: they begin anew. */
  forgetRates: (workspaceId: number) => void;
  /** Told once that is durable: its queue is held, or is not. */
  holdChanged: (workspaceId: number, isHeld: boolean) => void;
}

/** The operator's block of a workspace's sending, and the end of every block. */
export function blockRoutes(deps: BlockDeps) {
  return new Elysia({ name: "operator blocks", prefix: "/api/v1/operator/workspaces/:id" })
    .post(
      "/block",
      async ({ request, params, body }) => {
        operatorCaller(request);
        const isHeld = body.hold ?? false;
        const blocked = await deps.commit(() => {
          const { id, blockedAt } = findWorkspace(params.id, deps);
          const blockReason = body.reason ?? null;
          return deps.workspaces.update(id, { blockedAt: blockedAt ?? deps.clock.now(), blockReason, isHeld });
        });
        deps.log.event("workspace.blocked", { workspace: blocked.uid, hold: isHeld, reason: blocked.blockReason });
        deps.holdChanged(blocked.id, isHeld);
        return { data: showWorkspace(blocked, deps) };
      },
      {
        params: WorkspacePath,
        body: requestBody(WorkspaceBlock),
        parse: "json",
        detail: describe({
          id: "blockWorkspace",
          tag: TAG,
          summary: "Block a workspace's sending",
          description:
            "New messages are refused with 403. With `hold` what was accepted waits too, and expires on its time. A second block replaces the reason and the hold.",
          responses: answers(200, OperatorWorkspace, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/unblock",
      async ({ request, params }) => {
        operatorCaller(request);
        const unblocked = await deps.commit(() => {
          const { id, rateBlockedAt } = findWorkspace(params.id, deps);
          if (rateBlockedAt !== null) deps.forgetRates(id);
          const none = { blockedAt: null, blockReason: null, isHeld: false };
          return deps.workspaces.update(id, { ...none, rateBlockedAt: null, rateBlockReason: null });
        });
        deps.log.event("workspace.unblocked", { workspace: unblocked.uid });
        deps.holdChanged(unblocked.id, false);
        return { data: showWorkspace(unblocked, deps) };
      },
      {
        params: WorkspacePath,
        detail: describe({
          id: "unblockWorkspace",
          tag: TAG,
          summary: "Lift all blocks of a workspace's sending",
          description: "The operator's own and the one for bounces or complaints; what was held goes out at once.",
          example: { blocks: [] },
          responses: answers(200, OperatorWorkspace, CHANGE_ERRORS),
        }),
      },
    );
}
