// Accepts an SMS: one closure decides and writes everything.
// That is the replay of an idempotent answer, the workspace's block, plan, sender id, suppression, route, credits, the
// rows of message and segments, the stored answer. The message is encoded and split here, once: what is sent, sent again
// and paid for is settled with the 202.

import type { Plan } from "../../../config/config.ts";
import type { Context } from "../../../platform/context.ts";
import { AppError } from "../../../platform/errors.ts";
import type { RecordEvent } from "../../events/record.ts";
import { newId } from "../../../platform/uuid.ts";
import type { SenderKeys } from "../../api-keys/sender-store.ts";
import {
  type AcceptedSend,
  acceptIdempotently,
  type AcceptSendDeps,
  type SendAnswer,
  type SendRequest,
} from "../../idempotency/accept.ts";
import type { IdempotencyStore } from "../../idempotency/store.ts";
import { findRefusal, workspaceGone } from "../../plans/sending-refusal.ts";
import { dayAt } from "../../plans/quota.ts";
import type { UsageStore } from "../../plans/store.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import { changeCredits, type CreditStore } from "../../workspaces/credit-store.ts";
import type { SenderIdRow, SenderIdStore } from "../../workspaces/sender-store.ts";
import type { WorkspaceRow, WorkspaceStore } from "../../workspaces/store.ts";
import { type PreparedText, prepareText } from "./prepare.ts";
import type { SmsStores } from "../stores.ts";
import type { Routing, SmsRoute } from "./routing.ts";
import type { SmsSend } from "./schema.ts";
import { withoutBody } from "./serialize.ts";
import type { NewMessage } from "../queue/message-store.ts";
import type { Priority, ReadyWork } from "../queue/segment-read-store.ts";

export interface AcceptStores {
  sms: SmsStores;
  senderIds: SenderIdStore;
  suppressions: SuppressionStore;
  workspaces: WorkspaceStore;
  credits: CreditStore;
  usage: UsageStore;
  idempotency: IdempotencyStore;
}

/** Of writing a message that is decided on. */
export interface WriteDeps extends AcceptStores, Pick<Context, "random" | "log"> {
  findPlan: (workspaceId: number) => Plan;
  record: RecordEvent;
  settings: AcceptSendDeps["settings"] & { lifetimesMs: Record<Priority, number> };
}

export interface SmsAcceptDeps extends WriteDeps, Pick<AcceptSendDeps, "commit" | "clock" | "guard"> {
  routing: Routing;
  /** Called after the commit: there is work for a route's links. */
  nudge: (work: ReadyWork) => void;
}

export interface SmsAcceptRequest extends Omit<SendRequest, "operation"> {
  item: SmsSend;
}

/** References that the parts of neighbouring messages keep apart, as far as 16 bits go. */
const UMR_STEP = 1_021;

/** Accepts an SMS; resolves once that is durable. Throws AppError. */
export function acceptSms(request: SmsAcceptRequest, deps: SmsAcceptDeps): Promise<SendAnswer> {
  return acceptIdempotently({ ...request, operation: "sms" }, deps, () => (now) => write(request, now, deps));
}

function write({ caller, item }: SmsAcceptRequest, now: number, deps: SmsAcceptDeps): AcceptedSend {
  const { workspaceId, keyId = null, userId = null } = caller;
  const workspace = deps.workspaces.byId(workspaceId);
  if (workspace === undefined) throw workspaceGone();
  // Bounces and complaints of its email block only its email.
  const blocked = findRefusal({ ...workspace, rateBlockedAt: null, rateBlockReason: null });
  if (blocked !== null) throw blocked;
  // Before anything that only a plan with SMS can put right.
  if (!deps.findPlan(workspaceId).sms) throw notInPlan();
  const sender = chooseSender(workspaceId, item.from, deps);
  refuseSuppressed(workspaceId, item.to, deps);
  const route = deps.routing.find(item.to);
  if (route === null) throw noRoute(item.to);
  const text = prepareText(item.body, { coding: route, folding: workspace.smsFolding });
  const { uid, work } = writeText({ item, isHelp: false, workspace, sender, route, text, now, keyId, userId }, deps);
  return { data: { id: uid, status: "queued" }, committed: () => deps.nudge(work) };
}

function chooseSender(workspaceId: number, from: string | undefined, deps: SmsAcceptDeps): SenderIdRow {
  const all = deps.senderIds.of(workspaceId);
  const chosen = all.find(({ name, isDefault }) => (from === undefined ? isDefault : name === from));
  if (chosen !== undefined) return chosen;
  const [first] = all;
  if (first === undefined) {
    throw new AppError("SENDER_NOT_ALLOWED", "The workspace has no sender id to send SMS from", {
      field: "from",
      hint: "Ask the operator for one: sender ids are registered with the networks first.",
    });
  }
  throw new AppError("SENDER_NOT_ALLOWED", "The workspace has no such sender id", {
    field: "from",
    hint: `It has ${all.map(({ name }) => `"${name}"`).join(", ")}: use one of them exactly, or leave out from.`,
  });
}

function refuseSuppressed(workspaceId: number, to: string, deps: SmsAcceptDeps): void {
  const reason = deps.suppressions.reasonForNumber(workspaceId, to);
  if (reason === null) return;
  throw new AppError("RECIPIENT_SUPPRESSED", `The recipient is suppressed (${reason})`, {
    field: "to",
    hint: `It opted out, is not in service, or was suppressed by hand; DELETE /api/v1/suppressions/${encodeURIComponent(to)}?channel=sms lifts that.`,
  });
}

function notInPlan(): AppError {
  return new AppError("PLAN_UPGRADE_REQUIRED", "The workspace's plan does not include SMS", {
    hint: "Ask the operator for a plan with SMS.",
  });
}

/**
 * 422 and not 503: sending it again changes nothing before the operator has changed the configuration, and other
 * numbers may well go.
 */
export function noRoute(to: string): AppError {
  const message = `SMS cannot be sent to ${to}: no route leads to such numbers`;
  return new AppError("VALIDATION_ERROR", message, {
    field: "to",
    hint: "Ask the operator to connect this network ([[sms.routes]]).",
  });
}

export interface Decided extends SenderKeys {
  item: Pick<SmsSend, "to" | "body">;
  /** It answers HELP. */
  isHelp: boolean;
  workspace: WorkspaceRow;
  sender: SenderIdRow;
  route: SmsRoute;
  text: PreparedText;
  now: number;
}

/** Inside a transaction: writes it, and takes the credits. Throws AppError where there are too few. */
export function writeText(decided: Decided, deps: WriteDeps): { uid: string; work: ReadyWork } {
  const { item, isHelp, workspace, sender, route, text, now, keyId, userId } = decided;
  const { messages } = deps.sms;
  const { id: workspaceId } = workspace;
  const { segments } = text;
  // Before anything is written; the entry below is what counts.
  if (workspace.smsCredits < segments) throw tooFewCredits(workspace.smsCredits, segments);
  const priority = sender.priority ?? workspace.smsPriority;
  const row: NewMessage = {
    uid: newId(now, deps.random),
    workspaceId,
    recipient: item.to,
    sender: sender.name,
    body: item.body,
    sentText: text.sentText === item.body ? null : text.sentText,
    encoding: text.split.encoding,
    alphabet: text.split.alphabet,
    segments,
    expiresAt: now + deps.settings.lifetimesMs[priority],
    createdAt: now,
    isHelp,
    keyId,
    userId,
  };
  const messageId = messages.insert(row);
  const work: ReadyWork = { route: route.name, priority, workspaceId, nextAt: now };
  writeSegments(messageId, { ...decided, work }, deps);
  const entry = { workspaceId, kind: "reservation", amount: -segments, messageId, segments } as const;
  const balance = changeCredits({ ...entry, note: null, createdAt: now }, deps);
  if (balance === null) throw tooFewCredits(workspace.smsCredits, segments);
  deps.usage.add({ workspaceId, name: "sms", day: dayAt(now) }, 1);
  const { uid } = row;
  const data = () => {
    const written = messages.byId(messageId);
    return written === undefined ? { id: uid } : withoutBody(written);
  };
  deps.record({ workspaceId, type: "sms.queued", resource: uid, at: now, data });
  return { uid, work };
}

/** Inside a transaction: the segments of a message. */
export function writeSegments(
  messageId: number,
  { item, text, work }: Pick<Decided, "item" | "text"> & { work: ReadyWork },
  deps: { sms: Pick<SmsStores, "segments" | "references"> },
) {
  const payloads = text.split.parts;
  const isAlone = payloads.length === 1;
  const reference = isAlone ? null : deps.sms.references.next(item.to);
  for (const [index, payload] of payloads.entries()) {
    const umr = (messageId + index * UMR_STEP) & 0xffff;
    deps.sms.segments.insert({
      ...work,
      messageId,
      seq: index + 1,
      parts: payloads.length,
      payload: Buffer.from(payload),
      reference,
      umr,
    });
  }
}

function tooFewCredits(balance: number, needed: number): AppError {
  const message = `The message needs ${needed} SMS credits and the balance is ${balance}`;
  return new AppError("INSUFFICIENT_SMS_CREDITS", message, {
    hint: "Ask the operator for more credits; POST /api/v1/sms/preview shows the cost of a message.",
  });
}
