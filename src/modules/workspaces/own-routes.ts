// The routes of a workspace about itself: its state, its name, and who sees what messages say.

import { Elysia } from "elysia";
import type { NamedPlan } from "../../config/config.ts";
import type { Context } from "../../platform/context.ts";
import { AppError } from "../../platform/errors.ts";
import { memberCaller, wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { RecordAudit } from "../audit/record.ts";
import type { BuildUsage } from "../plans/routes.ts";
import { describeRates, windowAt } from "../plans/sending-block.ts";
import { workspaceGone } from "../plans/sending-refusal.ts";
import type { UsageStore } from "../plans/store.ts";
import { auditChange } from "./audit-change.ts";
import { OwnWorkspace, OwnWorkspaceChange, OwnWorkspaceQuery, OwnWorkspaceWithUsage } from "./schema.ts";
import type { SenderIdStore } from "./sender-store.ts";
import type { WorkspaceRow, WorkspaceStore } from "./store.ts";

export interface OwnWorkspaceDeps extends Pick<Context, "commit" | "clock"> {
  workspaces: Pick<WorkspaceStore, "byId" | "update">;
  senderIds: Pick<SenderIdStore, "of">;
  usage: Pick<UsageStore, "rates">;
  emails: Pick<EmailStore, "countWaitingAgain">;
  findNamedPlan: (workspaceId: number) => NamedPlan;
  buildUsage: BuildUsage;
  smsNetwork: Pick<typeof OwnWorkspace.static.sms, "isConnected" | "example">;
  recordAudit: RecordAudit;
}

export function ownWorkspaceRoutes(deps: OwnWorkspaceDeps) {
  return new Elysia({ name: "own workspace", prefix: "/api/v1/workspace" })
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const shown = show(find(workspaceId, deps), deps);
        return { data: query.include === undefined ? shown : { ...shown, usage: deps.buildUsage(workspaceId) } };
      },
      {
        query: OwnWorkspaceQuery,
        detail: describe({
          id: "getOwnWorkspace",
          tag: "Workspace",
          summary: "Get the workspace",
          description:
            "With what keeps it from sending, and how near it is to being blocked for bounces or complaints. " +
            "With `include=usage` it has its usage and its plan's limits too.",
          responses: answers(200, OwnWorkspaceWithUsage, [401, 403, 422]),
        }),
      },
    )
    .patch(
      "",
      async ({ request, body }) => {
        const { workspaceId, role } = memberCaller(request);
        const { viewersSeeContent, operatorsSeeContent } = body;
        if (role === "operator" && (viewersSeeContent ?? operatorsSeeContent) !== undefined) throw ownersOnly();
        const changed = await deps.commit(() => {
          auditChange(find(workspaceId, deps), body, request, deps.recordAudit);
          return deps.workspaces.update(workspaceId, body);
        });
        return { data: show(changed, deps) };
      },
      {
        ...jsonBody(OwnWorkspaceChange),
        detail: describe({
          id: "updateOwnWorkspace",
          tag: "Workspace",
          summary: "Change the workspace's name, and who sees what messages say",
          description: "In the dashboard: its owners change all of it, an operator the name.",
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
  const { id, uid, name, createdAt, viewersSeeContent, operatorsSeeContent } = workspace;
  const { first, last } = windowAt(deps.clock.now());
  const plan = deps.findNamedPlan(id);
  return {
    id: uid,
    name,
    plan: plan.name,
    createdAt: toIsoTime(createdAt),
    viewersSeeContent,
    operatorsSeeContent,
    block: showBlock(workspace),
    senderIds: deps.senderIds.of(id).map((sender) => ({
      name: sender.name,
      isDefault: sender.isDefault,
      priority: sender.priority,
    })),
    sms: { isInPlan: plan.plan.sms, ...deps.smsNetwork },
    emailsDelayed: deps.emails.countWaitingAgain(id),
    rates: { since: first, ...describeRates(deps.usage.rates(id, first, last)) },
  };
}

function ownersOnly(): AppError {
  const message = "Only the workspace's own owners decide who sees what messages say; you are an operator";
  return new AppError("ROLE_REQUIRED", message, { hint: "Ask an owner of the workspace." });
}

/** The operator's own block stands above one for rates: only it can hold the queue. */
function showBlock(workspace: WorkspaceRow): (typeof OwnWorkspace.static)["block"] {
  const { blockedAt, blockReason, isHeld, rateBlockedAt, rateBlockReason } = workspace;
  if (blockedAt !== null) return { kind: "operator", since: toIsoTime(blockedAt), reason: blockReason, isHeld };
  if (rateBlockedAt === null) return null;
  return { kind: "rates", since: toIsoTime(rateBlockedAt), reason: rateBlockReason, isHeld: false };
}
