// The operator's routes about workspaces. Credits, sender ids and keys have files of their own.

import { Type } from "@sinclair/typebox";
import { type AnyElysia, Elysia } from "elysia";
import { operatorCaller, requireFreshProof } from "../../../platform/http/auth.ts";
import { answers, Deleted, describe } from "../../../platform/http/openapi.ts";
import { CursorMeta, CursorQuery } from "../../../platform/http/pagination.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { toIsoTime } from "../../../platform/http/times.ts";
import { periodsAt } from "../../plans/quota.ts";
import { auditChange } from "../audit-change.ts";
import { deleteWorkspace } from "../purge.ts";
import { findWorkspace, requirePlan, WorkspacePath } from "../find.ts";
import type { WorkspaceRow } from "../store.ts";
import { creditRoutes } from "./credit-routes.ts";
import { CHANGE_ERRORS, DELETE_ERRORS, type OperatorWorkspaceDeps, READ_ERRORS, TAG } from "./deps.ts";
import { operatorKeyRoutes } from "./key-routes.ts";
import { OperatorWorkspace, WorkspaceBlock, WorkspaceChange } from "./schema.ts";
import { senderIdRoutes } from "./sender-id-routes.ts";

const LIST = "workspaces";

/** The operator's routes about workspaces. */
export function operatorWorkspaceRoutes(deps: OperatorWorkspaceDeps): AnyElysia[] {
  return [workspaceRoutes(deps), creditRoutes(deps), senderIdRoutes(deps), operatorKeyRoutes(deps)];
}

function workspaceRoutes(deps: OperatorWorkspaceDeps) {
  return new Elysia({ name: "operator workspaces", prefix: "/api/v1/operator/workspaces" })
    .get(
      "",
      ({ request, query }) => {
        operatorCaller(request);
        return deps.pages.list(query, LIST, deps.workspaces.list, (workspace) => showWorkspace(workspace, deps));
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listWorkspaces",
          tag: TAG,
          summary: "List workspaces, newest first",
          description: "Each with its blocks and usage.",
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
          summary: "Get a workspace with its blocks and usage",
          description: "As in the list.",
          responses: answers(200, OperatorWorkspace, READ_ERRORS),
        }),
      },
    )
    .patch(
      "/:id",
      async ({ request, params, body }) => {
        operatorCaller(request);
        if (body.plan !== undefined) requirePlan(body.plan, deps.planNames);
        const changed = await deps.commit(() => {
          const before = findWorkspace(params.id, deps);
          auditChange(before, body, request, deps.recordAudit);
          return deps.workspaces.update(before.id, body);
        });
        const { uid, name, plan, smsFolding, smsPriority } = changed;
        deps.log.event("workspace.changed", { workspace: uid, name, plan, smsFolding, smsPriority });
        return { data: showWorkspace(changed, deps) };
      },
      {
        params: WorkspacePath,
        ...jsonBody(WorkspaceChange),
        detail: describe({
          id: "updateWorkspace",
          tag: TAG,
          summary: "Change a workspace's name, plan or SMS settings",
          description: "The limits of another plan apply at once; existing resources above them stay.",
          responses: answers(200, OperatorWorkspace, CHANGE_ERRORS),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        operatorCaller(request);
        requireFreshProof(request);
        const { uid, domainIds } = await deps.commit(() => {
          const workspace = findWorkspace(params.id, deps);
          const [target, detail] = [workspace.name, { id: workspace.uid }];
          // Of the instance: what is the workspace's own goes with it.
          deps.recordAudit({ workspaceId: null, request, action: "workspace.deleted", target, detail });
          return { uid: workspace.uid, domainIds: deleteWorkspace(workspace.id, deps) };
        });
        deps.log.event("workspace.deleted", { workspace: uid });
        deps.deleted(domainIds);
        return { data: { id: uid, deleted: true } };
      },
      {
        params: WorkspacePath,
        detail: describe({
          id: "deleteWorkspace",
          tag: TAG,
          summary: "Delete a workspace and all its data",
          description:
            "Its API keys stop working, its signing keys are destroyed, and waiting messages are not sent. Its emails are removed within minutes.",
          responses: answers(200, Deleted, DELETE_ERRORS),
        }),
      },
    )
    .post(
      "/:id/block",
      async ({ request, params, body }) => {
        operatorCaller(request);
        const isHeld = body.hold ?? false;
        const blocked = await deps.commit(() => {
          const { id, blockedAt } = findWorkspace(params.id, deps);
          const blockReason = body.reason ?? null;
          const detail = { reason: blockReason, hold: isHeld };
          deps.recordAudit({ workspaceId: id, request, action: "workspace.blocked", target: null, detail });
          return deps.workspaces.update(id, { blockedAt: blockedAt ?? deps.clock.now(), blockReason, isHeld });
        });
        deps.log.event("workspace.blocked", { workspace: blocked.uid, hold: isHeld, reason: blocked.blockReason });
        deps.holdChanged(blocked.id, isHeld);
        return { data: showWorkspace(blocked, deps) };
      },
      {
        params: WorkspacePath,
        ...jsonBody(WorkspaceBlock),
        detail: describe({
          id: "blockWorkspace",
          tag: TAG,
          summary: "Block a workspace's sending",
          description:
            "New messages are refused with 403. With `hold`, accepted messages wait too, and expire on time. A second block replaces the reason and the hold.",
          responses: answers(200, OperatorWorkspace, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/:id/unblock",
      async ({ request, params }) => {
        operatorCaller(request);
        const unblocked = await deps.commit(() => {
          const { id, rateBlockedAt } = findWorkspace(params.id, deps);
          deps.recordAudit({ workspaceId: id, request, action: "workspace.unblocked", target: null });
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
          description: "The operator's own, and one for bounces or complaints. Held messages are sent at once.",
          example: { blocks: [] },
          responses: answers(200, OperatorWorkspace, CHANGE_ERRORS),
        }),
      },
    );
}

/** A workspace as the operator sees it, with what it uses now. */
function showWorkspace(workspace: WorkspaceRow, deps: OperatorWorkspaceDeps): typeof OperatorWorkspace.static {
  const { id } = workspace;
  const { day, month } = periodsAt(deps.clock.now());
  return {
    id: workspace.uid,
    name: workspace.name,
    plan: workspace.plan,
    createdAt: toIsoTime(workspace.createdAt),
    smsCredits: workspace.smsCredits,
    smsFolding: workspace.smsFolding,
    smsPriority: workspace.smsPriority,
    senderIds: deps.senderIds.of(id).map(({ name, isDefault, priority }) => ({ name, isDefault, priority })),
    blocks: showBlocks(workspace),
    usage: {
      emailsToday: deps.usage.ofDay(id, "emails", day),
      emailsThisMonth: deps.usage.ofMonth(id, "emails", month),
      smsThisMonth: deps.usage.ofMonth(id, "sms", month),
      domains: deps.domains.countForWorkspace(id),
      apiKeys: deps.keys.countForWorkspace(id),
      storageBytes: deps.usage.storedBytes(id),
    },
    waiting: deps.emails.countWaiting(id),
  };
}

function showBlocks(workspace: WorkspaceRow): (typeof OperatorWorkspace.static)["blocks"] {
  const { blockedAt, blockReason, isHeld, rateBlockedAt, rateBlockReason } = workspace;
  const blocks: (typeof OperatorWorkspace.static)["blocks"] = [];
  if (blockedAt !== null)
    blocks.push({ by: "operator", reason: blockReason, since: toIsoTime(blockedAt), holdsQueue: isHeld });
  if (rateBlockedAt !== null)
    blocks.push({ by: "rate", reason: rateBlockReason, since: toIsoTime(rateBlockedAt), holdsQueue: false });
  return blocks;
}
