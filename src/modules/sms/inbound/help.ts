// The answer to HELP: the configured text, from the number that was written to and by the same route.
// It is a message of the workspace that the number is assigned to, which pays for it as for any other. It goes to those
// who opted out as well: they ask for it. Once a day and subscriber, so that two machines do not answer each other for ever.

import { SENT_BY_NOBODY } from "../../api-keys/sender-store.ts";
import { findRefusal } from "../../plans/sending-refusal.ts";
import { type WriteDeps, writeText } from "../api/accept.ts";
import { prepareText } from "../api/prepare.ts";
import type { NumberingPlan } from "../encoding/phone-number.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { ReadyWork } from "../queue/segment-read-store.ts";

const AGAIN_MS = 86_400_000;

export interface InboundDeps extends WriteDeps {
  /** Null: HELP is not answered. */
  helpText: string | null;
  routes: ReadonlyMap<string, Route>;
  numbering: NumberingPlan;
}

export interface AskedForHelp {
  workspaceId: number;
  /** The subscriber, in E.164. */
  from: string;
  /** Ways of writing the number that was written to. */
  to: string[];
  route: string;
  now: number;
}

/** Inside the transaction that keeps what was asked; the work that the answer makes. */
export function answerHelp(
  { workspaceId, from, to, route: routeName, now }: AskedForHelp,
  deps: InboundDeps,
): ReadyWork[] {
  const { helpText, routes, numbering, workspaces, senderIds, sms, log } = deps;
  const route = routes.get(routeName)?.config;
  if (helpText === null || route === undefined || !numbering.allows(from)) return [];
  const workspace = workspaces.byId(workspaceId);
  const sender = senderIds.of(workspaceId).find(({ name }) => to.includes(name));
  if (workspace === undefined || sender === undefined) return [];
  if (sms.messages.helpedSince(workspaceId, from, now - AGAIN_MS)) return [];
  const text = prepareText(helpText, { coding: route, folding: workspace.smsFolding });
  const blocked = findRefusal({ ...workspace, rateBlockedAt: null, rateBlockReason: null }) !== null;
  const isPaid = deps.findPlan(workspaceId).sms && workspace.smsCredits >= text.segments;
  if (blocked || !isPaid) {
    log.event("sms.help_unanswered", { workspace: workspace.uid, why: blocked ? "blocked" : "credits" }, "warn");
    return [];
  }
  return [
    writeText(
      { item: { to: from, body: helpText }, isHelp: true, workspace, sender, route, text, now, ...SENT_BY_NOBODY },
      deps,
    ).work,
  ];
}
