// The routes of a workspace about itself: its state, and its name.

import { Elysia } from "elysia";
import type { NamedPlan } from "../../config/config.ts";
import type { Context } from "../../platform/context.ts";
import { memberCaller, wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { RecordAudit } from "../audit/record.ts";
import { describeRates, windowAt } from "../plans/sending-block.ts";
import { workspaceGone } from "../plans/sending-refusal.ts";
import type { UsageStore } from "../plans/store.ts";
import { OwnWorkspace, OwnWorkspaceChange } from "./schema.ts";
import type { SenderIdStore } from "./sender-store.ts";
import type { WorkspaceRow, WorkspaceStore } from "./store.ts";

export interface OwnWorkspaceDeps extends Pick<Context, "commit" | "clock"> {
  workspaces: Pick<WorkspaceStore, "byId" | "update">;
  senderIds: Pick<SenderIdStore, "of">;
  usage: Pick<UsageStore, "rates">;
  emails: Pick<EmailStore, "countWaitingAgain">;
  findNamedPlan: (workspaceId: number) => NamedPlan;
  recordAudit: RecordAudit;
}

export function ownWorkspaceRoutes(deps: OwnWorkspaceDeps) {
  return new Elysia({ name: "own workspace", prefix: "/api/v1/workspace" })
    .get("", ({ request }) => ({ data: show(find(wholeWorkspaceCaller(request).workspaceId, deps), deps) }), {
      detail: describe({
        id: "getOwnWorkspace",
        tag: "Workspace",
        summary: "Get the workspace",
        description: "With what keeps it from sending, and how near it is to being blocked for bounces or complaints.",
        responses: answers(200, OwnWorkspace, [401, 403]),
      }),
    })
    .patch(
      "",
      async ({ request, body }) => {
        const { workspaceId } = memberCaller(request);
        const changed = await deps.commit(() => {
          const before = find(workspaceId, deps);
          const detail = { name: { before: before.name, after: body.name } };
          deps.recordAudit({ workspaceId, request, action: "workspace.changed", target: null, detail });
          return deps.workspaces.update(workspaceId, { name: body.name });
        });
        return { data: show(changed, deps) };
      },
      {
        ...jsonBody(OwnWorkspaceChange),
        detail: describe({
          id: "updateOwnWorkspace",
          tag: "Workspace",
          summary: "Rename the workspace",
          description: "Only its owners can, in the dashboard.",
          keys: ["sessionCookie"],
          responses: answers(200, OwnWorkspace, [400, 401, 403, 404, 413, 415, 422, 503]),
        }),
      },
    );
}

/** Throws 401 when it was deleted while the request came. */
function find(workspaceId: number, { workspaces }: OwnWorkspaceDeps): WorkspaceRow {
  const workspace = workspaces.byId(workspaceId);
  if (workspace === undefined) throw workspaceGone();
  return workspace;
}

function show(workspace: WorkspaceRow, deps: OwnWorkspaceDeps): typeof OwnWorkspace.static {
  const { id, uid, name, createdAt } = workspace;
  const { first, last } = windowAt(deps.clock.now());
  return {
    id: uid,
    name,
    plan: deps.findNamedPlan(id).name,
    createdAt: toIsoTime(createdAt),
    block: showBlock(workspace),
    senderIds: deps.senderIds.of(id).map((sender) => ({
      name: sender.name,
      isDefault: sender.isDefault,
      priority: sender.priority,
    })),
    emailsDelayed: deps.emails.countWaitingAgain(id),
    rates: { since: first, ...describeRates(deps.usage.rates(id, first, last)) },
  };
}

/** The operator's own block stands above one for rates: only it can hold the queue. */
function showBlock(workspace: WorkspaceRow): (typeof OwnWorkspace.static)["block"] {
  const { blockedAt, blockReason, isHeld, rateBlockedAt, rateBlockReason } = workspace;
  if (blockedAt !== null) return { kind: "operator", since: toIsoTime(blockedAt), reason: blockReason, isHeld };
  if (rateBlockedAt === null) return null;
  return { kind: "rates", since: toIsoTime(rateBlockedAt), reason: rateBlockReason, isHeld: false };
}
