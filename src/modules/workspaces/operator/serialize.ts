import type { Clock } from "../../../platform/clock.ts";
import type { DomainStore } from "../../domains/store.ts";
import type { EmailStore } from "../../emails/store/store.ts";
import { timeOf } from "../../../platform/http/times.ts";
import type { KeyStore } from "../../api-keys/store.ts";
import { periodsAt } from "../../plans/quota.ts";
import type { UsageStore } from "../../plans/store.ts";
import type { OperatorWorkspace } from "./schema.ts";
import type { SenderIdStore } from "../sender-store.ts";
import type { WorkspaceRow } from "../store.ts";

export interface ShowDeps {
  senderIds: SenderIdStore;
  usage: UsageStore;
  domains: DomainStore;
  keys: KeyStore;
  emails: EmailStore;
  clock: Pick<Clock, "now">;
}

/** A workspace as the operator sees it, with what it uses now. */
export function showWorkspace(workspace: WorkspaceRow, deps: ShowDeps): typeof OperatorWorkspace.static {
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
