import { timeOf } from "../../../platform/http/times.ts";
import { periodsAt } from "../../plans/quota.ts";
import type { OperatorWorkspaceDeps } from "./deps.ts";
import type { OperatorWorkspace } from "./schema.ts";
import type { WorkspaceRow } from "../store.ts";

/** A workspace as the operator sees it, with what it uses now. */
export function showWorkspace(workspace: WorkspaceRow, deps: OperatorWorkspaceDeps): typeof OperatorWorkspace.static {
  const { id } = workspace;
  const { day, month } = periodsAt(deps.clock.now());
  return {
    id: workspace.uid,
    name: workspace.name,
    plan: workspace.plan,
    createdAt: timeOf(workspace.createdAt),
    smsCredits: workspace.smsCredits,
    smsFolding: workspace.smsFolding,
    smsPriority: workspace.smsPriority,
    senderIds: deps.senderIds.of(id).map(({ name, isDefault, priority }) => ({ name, isDefault, priority })),
    blocks: blocksOf(workspace),
    usage: {
      emailsToday: deps.usage.ofDay(id, "emails", day),
      emailsThisMonth: deps.usage.ofMonth(id, "emails", month),
      smsThisMonth: deps.usage.ofMonth(id, "sms", month),
      domains: deps.domains.countOf(id),
      apiKeys: deps.keys.countOf(id),
      storageBytes: deps.usage.storedBytes(id),
    },
    waiting: deps.emails.countWaiting(id),
  };
}

function blocksOf(workspace: WorkspaceRow): (typeof OperatorWorkspace.static)["blocks"] {
  const { blockedAt, blockReason, isHeld, rateBlockedAt, rateBlockReason } = workspace;
  const blocks: (typeof OperatorWorkspace.static)["blocks"] = [];
  if (blockedAt !== null)
    blocks.push({ by: "operator", reason: blockReason, since: timeOf(blockedAt), holdsQueue: isHeld });
  if (rateBlockedAt !== null)
    blocks.push({ by: "rate", reason: rateBlockReason, since: timeOf(rateBlockedAt), holdsQueue: false });
  return blocks;
}
