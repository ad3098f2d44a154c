// Accepts emails. Work that needs no state comes first: parsing, the text part, compression. Then one
// closure decides and writes everything: the replay of an idempotent answer, the workspace's blocks, domain,
// suppression, quota, the rows of email, body and queue, the stored answer. Its commit is what the 202 stands on.

import type { Plan } from "../../../config/config.ts";
import type { Random } from "../../../platform/random.ts";
import { newIds } from "../../../platform/uuid.ts";
import type { DomainStore } from "../../domains/store.ts";
import type { RecordEvent } from "../../events/record.ts";
import {
  type AcceptedSend,
  acceptIdempotently,
  type AcceptSendDeps,
  type SendAnswer,
} from "../../idempotency/accept.ts";
import { takeEmailQuota, takeStorage } from "../../plans/quota.ts";
import { findRefusal, type Standing } from "../../plans/sending-refusal.ts";
import type { UnsubscribeLinks } from "../../unsubscribe/links.ts";
import type { UsageStore } from "../../plans/store.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import { chooseDomains, findSuppressed, refuseTimes, requireHostedPages } from "./check-send.ts";
import { type Prepared, prepareAll, type PrepareDeps } from "./prepare.ts";
import type { AcceptRequest } from "./stage-send.ts";
import { type Lanes, writeEmail, type WriteEmailDeps } from "./write-email.ts";

export interface AcceptDeps extends AcceptSendDeps, Omit<WriteEmailDeps, "settings">, Omit<PrepareDeps, "settings"> {
  domains: DomainStore;
  suppressions: SuppressionStore;
  usage: UsageStore;
  random: Random;
  workspaces: { byId(id: number): (Standing & { uid: string }) | undefined };
  findPlan: (workspaceId: number) => Plan;
  /** Called after the commit: a row of this lane is due. */
  nudge: (laneId: number, dueAt: number, expiresAt?: number) => void;
  record: RecordEvent;
  unsubscribeLinks: Pick<UnsubscribeLinks, "isHosted">;
  settings: AcceptSendDeps["settings"] & WriteEmailDeps["settings"] & PrepareDeps["settings"];
}

/** Accepts all of `items` or none; resolves once that is durable. Throws AppError. */
export function acceptEmails(request: AcceptRequest, deps: AcceptDeps): Promise<SendAnswer> {
  return acceptIdempotently(request, deps, async () => {
    const prepared = await prepareAll(request, deps);
    return (now) => writeAll(request, prepared, now, deps);
  });
}

/** Inside the transaction. Throws AppError where it refuses. */
export function writeAll(request: AcceptRequest, prepared: Prepared[], now: number, deps: AcceptDeps): AcceptedSend {
  const { workspaceId, keyId = null, userId = null } = request.caller;
  const workspace = deps.workspaces.byId(workspaceId);
  const blocked = findRefusal(workspace);
  if (blocked !== null) throw blocked;
  requireHostedPages(request, deps.unsubscribeLinks);
  refuseTimes(request, now);
  const senders = chooseDomains(request, prepared, deps.domains);
  const suppressed = findSuppressed(request, prepared, deps.suppressions);
  const plan = deps.findPlan(workspaceId);
  const count = prepared.reduce((sum, { recipients }) => sum + recipients.length, 0);
  const warnings = takeEmailQuota({ workspaceId, plan, amount: count - suppressed.size, now }, deps.usage);
  const bytes = prepared.reduce((sum, { body }) => sum + body.content.length, 0);
  takeStorage({ workspaceId, plan, bytes }, deps.usage);
  for (const warning of warnings) {
    const resource = workspace?.uid ?? "";
    deps.record({ workspaceId, type: "workspace.quota_warning", resource, at: now, data: () => warning });
  }

  const uids = newIds(count, now, deps.random).values();
  const newUid = () => {
    const { value } = uids.next();
    if (value === undefined) throw new Error("a recipient has no id");
    return value;
  };
  const lanes: Lanes = new Map();
  const sender = { keyId, userId };
  const accepted = prepared.map((email, index) => {
    const domain = senders[index];
    if (domain === undefined) throw new Error("an email has no domain");
    return writeEmail(email, domain, { sender, newUid, now, suppressed, lanes, deps });
  });
  return {
    data: request.operation === "emails.batch" ? accepted : accepted[0],
    committed: () => {
      for (const [laneId, { destination, dueAt }] of lanes) {
        deps.queue.rememberLane(workspaceId, destination, laneId);
        deps.nudge(laneId, dueAt, dueAt + deps.settings.lifetimeMs);
      }
    },
  };
}
